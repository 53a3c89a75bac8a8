"""Say in one line what to install when this Python is too old; runs on any Python 3."""

import sys

if sys.version_info < (3, 11):
    sys.exit(
        "This book needs Python 3.11 or newer; this is Python %d.%d (%s). "
        "Install a newer one and call: make book PYTHON=python3.11"
        % (sys.version_info[0], sys.version_info[1], sys.executable)
    )
