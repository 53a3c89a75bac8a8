"""The figure `running_softmax`: its Python face, its script and its style."""
