"""Write the strip of the thread, which the last page shows, out of the weights of all chapters.

usage: python -m tools.make_thread
"""

from pathlib import Path

from d2lattn.book import running_pair

PAGE = Path(__file__).resolve().parents[1] / "images" / "the-thread.html"

if __name__ == "__main__":
    PAGE.write_text(running_pair.as_html(), encoding="utf-8")
