"""The figure `xray`: its Python face, its script and its style."""
