"""Pages as a browser lays them out: what leaves the window, and what is cut."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

#: Browsers that print a page's elements after its scripts ran.
NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), "")

_MEASURE = """
const page = document.getElementById("page");
const found = [];
page.addEventListener("load", () => {
  const inside = page.contentDocument, root = inside.documentElement, view = page.contentWindow;
  if (root.scrollWidth > page.clientWidth)
    found.push("the page is " + root.scrollWidth + " wide");
  const scrolls = each => {
    for (let up = each; up && up !== root; up = up.parentElement)
      if (["auto", "scroll"].includes(view.getComputedStyle(up).overflowX)) return true;
    return false;
  };
  for (const each of inside.body.querySelectorAll("*")) {
    const style = view.getComputedStyle(each), box = each.getBoundingClientRect();
    const words = each.tagName + ": " + (each.textContent || "").trim().slice(0, 60);
    // a folded line ends in an ellipsis and is whole when it is opened
    const folded = style.textOverflow === "ellipsis" && each.closest("details:not([open])");
    const hides = ["hidden", "clip"].includes(style.overflowX) && style.position !== "absolute";
    if (hides && !folded && each.scrollWidth > each.clientWidth + 1 && box.width > 2)
      found.push("cut, " + words);
    if (["TD", "TH"].includes(each.tagName) && each.scrollWidth > each.clientWidth + 1)
      found.push("wider than its cell, " + words);
    if (box.width > 2 && box.right > page.clientWidth + 1 && !scrolls(each))
      found.push("leaves the page, " + words);
  }
  document.body.dataset.found = JSON.stringify(found);
});
page.srcdoc = JSON.parse(document.getElementById("text").textContent);
"""


def misplaced(page: str, folder: Path, width: int = 375) -> list[str]:
    """Return what is wrong with a page in a window of so many pixels; needs ``BROWSER``.

    Args:
        page: Its HTML.
        folder: For the file that the browser reads.
        width: Of the window.
    """
    text = json.dumps(page).replace("<", "\\u003c")
    around = folder / "around.html"
    around.write_text(
        '<!doctype html><meta charset="utf-8"><body>'
        f'<iframe id="page" width="{width}" height="800" style="border:0"></iframe>'
        f'<script type="application/json" id="text">{text}</script><script>{_MEASURE}</script>',
        encoding="utf-8",
    )
    quiet = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000")
    done = subprocess.run(
        [BROWSER, *quiet, f"--user-data-dir={folder / 'browser'}", "--dump-dom", around.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = re.search(r'data-found="([^"]*)"', done.stdout)
    assert found is not None, done.stderr[-500:]
    return list(dict.fromkeys(json.loads(html.unescape(found[1]))))
