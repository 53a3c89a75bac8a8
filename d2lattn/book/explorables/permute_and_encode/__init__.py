"""The figure `permute_and_encode`: its Python face, its script and its style."""
