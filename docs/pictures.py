"""The pictures in these pages, taken from a report by headless Chromium.

comrecgc explain --dataset mutagenicity --classifier classifier.pth --max-changes 2 --out run
comrecgc evaluate run --evidence
python docs/pictures.py run/report.html docs/images 3
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright


def main(report: Path, folder: Path, rule: int = 1) -> None:
    """Save the top of a report, and one rule with its drawings, as `report.png` and `recourse.png`."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 1080})
        page.goto(report.resolve().as_uri() + f"#recourse-{rule}")
        page.wait_for_selector("html[data-settled=yes]")
        page.evaluate("window.scrollTo(0, 0)")
        page.screenshot(
            path=folder / "report.png", clip={"x": 0, "y": 0, "width": 1100, "height": 1500}, full_page=True
        )
        row, detail = (page.locator(f"#recourse-{rule}{part}").bounding_box() for part in ("", " + .detail"))
        assert row is not None
        assert detail is not None
        clip = {"x": 0.0, "y": row["y"] - 20, "width": 1100.0, "height": row["height"] + detail["height"] + 20}
        page.screenshot(path=folder / "recourse.png", clip=clip, full_page=True)  # type: ignore[arg-type]
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:4]))
