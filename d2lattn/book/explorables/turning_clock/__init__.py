"""The figure `turning_clock`: its Python face, its script and its style."""
