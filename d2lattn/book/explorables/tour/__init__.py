"""The figure `tour`: its Python face, its script and its style."""
