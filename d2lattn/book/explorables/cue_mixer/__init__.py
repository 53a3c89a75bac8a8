"""The figure `cue_mixer`: its Python face, its script and its style."""
