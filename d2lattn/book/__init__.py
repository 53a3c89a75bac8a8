"""What belongs to the pages: plots, tables, figures to play with, exercises, experiments.

The library does not know of it; its face, `d2lattn`, loads what is asked for.
"""
