"""The figure `sign`: its Python face, its script and its style."""
