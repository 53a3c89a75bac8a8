"""Command-line tools: run notebooks, make the zip, slides and PDF. Call `python -m tools.NAME`."""
