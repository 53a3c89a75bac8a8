"""The figure `nadaraya_watson_bench`: its Python face, its script and its style."""
