"""The figure `alignment_judge`: its Python face, its script and its style."""
