"""The figure `first_place`: its Python face, its script and its style."""
