"""Everything that makes HTML: Sphinx extensions, templates, style, fonts and drawings."""
