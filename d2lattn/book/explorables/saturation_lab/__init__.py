"""The figure `saturation_lab`: its Python face, its script and its style."""
