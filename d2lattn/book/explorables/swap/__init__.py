"""The figure `swap`: its Python face, its script and its style."""
