"""The figure `forge`: its Python face, its script and its style."""
