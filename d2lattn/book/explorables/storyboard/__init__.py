"""The figure `storyboard`: its Python face, its script and its style."""
