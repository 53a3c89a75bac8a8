"""The figure `matrix_memory`: its Python face, its script and its style."""
