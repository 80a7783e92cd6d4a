"""The pictures in these pages, taken from a report by headless Chromium.

    comrecgc explain --dataset mutagenicity --classifier classifier.pth --embedder greed.pt --valence --recourses 20 \
        --time-budget 170 --out run
    python docs/pictures.py run/report.html docs/images
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright


def main(report: Path, folder: Path) -> None:
    """Save the top of a report, and its second recourse with its drawings, as `report.png` and `recourse.png`."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        page.goto(report.resolve().as_uri())
        page.screenshot(path=folder / "report.png")
        row = page.locator("[aria-expanded]").nth(1)
        row.click()
        row.scroll_into_view_if_needed()
        page.evaluate(
            "element => window.scrollTo(0, element.getBoundingClientRect().top + window.scrollY - 20)",
            row.element_handle(),
        )
        page.wait_for_timeout(300)
        page.screenshot(path=folder / "recourse.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
