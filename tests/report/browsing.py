"""Opening a page in a headless Chromium, as a person does, and minding that it complains of nothing and asks for nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Open = Callable[..., "Page"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDE, NARROW = 1280, 390


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    api = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip("browser tests need Chromium on the PATH")
    with api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"] if os.geteuid() == 0 else []
        )
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens a file; at the end of the test the page must have complained of nothing and asked for nothing else."""
    complaints: list[str] = []
    requests: list[str] = []
    contexts = []

    def open_file(path: Path, width: int = WIDE, scheme: str = "light", fragment: str = "") -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri() + fragment)
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert len([url for url in requests if url.startswith("file:")]) == len(contexts)
