"""The figure `head_ablation`: its Python face, its script and its style."""
