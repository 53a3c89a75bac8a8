"""Speed, memory and trainings behind the reference tables. Call `python -m benchmarks.NAME`."""
