"""The pictures in these pages, taken from a report by headless Chromium.

comrecgc explain --dataset mutagenicity --classifier classifier.pth --out run
python docs/pictures.py run/report.html docs/images
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH = 1200
WISHES = "changes=1&success=0.5"  # rules of one change that work at least every other time


def main(report: Path, folder: Path, rule: int = 1) -> None:
    """Save the headline of a report, its wishes and one rule with its drawings as three pictures."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 1080})
        parts = {
            "wishes.png": ("section[aria-labelledby=choose-title]", "section[aria-labelledby=choose-title]"),
            "headline.png": ("header", ".figures"),
            "recourse.png": (f"#recourse-{rule}", f"#recourse-{rule} + .detail .example-block >> nth=0"),
        }
        for name, (first, last) in parts.items():
            page.goto("about:blank")
            page.goto(report.resolve().as_uri() + (f"#{WISHES}" if name == "wishes.png" else ""))
            page.wait_for_selector("html[data-settled=yes]")
            if name == "recourse.png":
                page.locator(f"#recourse-{rule} th button").click()
            page.evaluate("window.scrollTo(0, 0)")
            page.mouse.move(0, 0)
            top, bottom = page.locator(first).bounding_box(), page.locator(last).bounding_box()
            assert top is not None
            assert bottom is not None
            height = bottom["y"] + bottom["height"] - top["y"]
            clip = {"x": 0.0, "y": top["y"] - 4, "width": float(WIDTH), "height": height + 24}
            page.screenshot(path=folder / name, clip=clip, full_page=True)  # type: ignore[arg-type]
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:4]))
