"""Write the repository's address and branch into _config.yml, the one place that names them.

usage: python scripts/set_repository.py https://host/owner/name BRANCH
"""

import re
import sys
from pathlib import Path

CONFIG = Path(__file__).resolve().parent.parent / "_config.yml"


def point_at(config: str, url: str, branch: str) -> str:
    """Return the text of _config.yml with another repository in it, and nothing else changed."""
    pattern = r"(?m)^(repository:\n  url: ).*(\n  branch: ).*$"
    changed, places = re.subn(
        pattern, lambda found: f"{found[1]}{url}{found[2]}{branch}", config, count=1
    )
    if not places:
        raise SystemExit(f"{CONFIG.name} has no repository section with url and branch")
    return changed


if __name__ == "__main__":
    if len(sys.argv) != 3 or not re.fullmatch(r"https://[\w.-]+/[\w.-]+/[\w.-]+", sys.argv[1]):
        raise SystemExit(__doc__)
    CONFIG.write_text(point_at(CONFIG.read_text("utf8"), sys.argv[1], sys.argv[2]), "utf8")
