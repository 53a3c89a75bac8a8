"""The figure `look_ahead`: its Python face, its script and its style."""
