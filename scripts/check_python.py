"""Say in one line what is missing when this Python cannot do; runs on any Python 3."""

import platform
import sys

if sys.version_info < (3, 11):
    sys.exit(
        "This book needs Python 3.11 or newer; this is Python %d.%d (%s). "
        "Install a newer one and call: make book PYTHON=python3.11"
        % (sys.version_info[0], sys.version_info[1], sys.executable)
    )

if sys.platform == "darwin" and platform.machine() == "x86_64":
    sys.exit(
        "PyTorch is no longer made for Macs with an Intel processor, nor for a Python made for "
        "these (%s). Read the book's pages, or launch its notebooks in Binder." % sys.executable
    )
