"""The figure `writers_memory`: its Python face, its script and its style."""
