"""Makes docs/pictures/*.png: pages of clew's in a headless chromium, as a reader sees them.

python tools/make_pictures.py [--folder /home/ada/clew]

The programs run in that folder, whose name the pages show (a temporary one if none is given). Needs the extras `test`
and chromium; `CLEW_CHROMIUM` names its executable if it is not on the path.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"

# What docs/pictures/graph.png shows: blocks that repeat, a module, and a function of the user's.
CONTRAST = """
import clew
from clew import nn


def contrast(a, b):
    distance = (a - b).square().sum(dim=1)
    return (distance + 1e-6).log().mean()


blocks = nn.Sequential(*(nn.Sequential(nn.Linear(32, 32), nn.Tanh()) for _ in range(3)))
model = nn.Sequential(nn.Linear(16, 32), blocks, nn.Linear(32, 8))
hidden = model(clew.randn(16, 16))
loss = contrast(hidden, hidden.flip(0))
clew.graph.draw(loss, params=dict(model.named_parameters())).save("contrast.html")
"""


def run(folder: Path, *command: str) -> None:
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    subprocess.run([sys.executable, *command], cwd=folder, check=True, env={**os.environ, "PYTHONPATH": path})


def make_pages(folder: Path) -> None:
    """The programs, and the pages that they make."""
    (folder / "examples").mkdir(parents=True)
    shutil.copy(ROOT / "examples" / "digits.py", folder / "examples")
    (folder / "contrast.py").write_text(CONTRAST.lstrip(), encoding="utf-8")
    run(folder, "-m", "clew.cli", "xray", "--html", "report.html", "examples/digits.py")
    run(folder, "contrast.py")


def picture(browser: Any, page: Path, select: str, size: tuple[int, int], name: str) -> None:
    """Of the page's graph at the end of its life, with the first box of that name selected."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, offline=True)
    seen = context.new_page()
    seen.goto(page.as_uri())
    tab = seen.get_by_role("tab", name="Graph")
    if tab.count():
        tab.click()
    graph = seen.locator(".graph[data-ready=yes]:not([hidden])")
    graph.locator(".box .title", has_text=select).first.click()
    graph.locator(".life").evaluate("life => { life.value = life.max; life.dispatchEvent(new Event('input')); }")
    seen.screenshot(path=PICTURES / name)
    context.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--folder", type=Path, help="where the programs run; must not exist, and is removed again")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp()) / "clew"
    executable = os.environ.get("CLEW_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        make_pages(folder)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=executable, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
            )
            picture(browser, folder / "report.html", "ReLU", (1200, 780), "report.png")
            picture(browser, folder / "contrast.html", "contrast()", (1400, 900), "graph.png")
            browser.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
