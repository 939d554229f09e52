"""A headless Chromium for tests, with a new profile, without network access, and with its console messages."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromedriver")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--lang=en",
)
NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"

VISITS = 20
GIVEN_UP = """return document.URL.startsWith("chrome-error:")
    || [...document.querySelectorAll("link[rel=stylesheet]")].some((each) => !each.sheet)"""


def missing() -> list[str]:
    """Return the programs that are not installed here."""
    return [program for program in PROGRAMS if shutil.which(program) is None]


@contextlib.contextmanager
def browser(width: int = 1280, height: int = 900, dark: bool = False) -> Iterator[Any]:
    """Start a browser with a temporary profile."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        wishes = [NO_NETWORK, f"--user-data-dir={profile}", f"--window-size={width},{height}"]
        for flag in (*FLAGS, *wishes, *(["--blink-settings=preferredColorScheme=0"] if dark else [])):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver") or ""))
        try:
            driver.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
            )
            yield driver
        finally:
            driver.quit()


def visit(driver: Any, url: str) -> None:
    """Open an address. Chromium gives up what it is loading when a network interface appears or goes, as Docker's do."""
    for _ in range(VISITS):
        driver.get(url)
        if not driver.execute_script(GIVEN_UP):
            return
    raise AssertionError(f"Chromium could not open {url}: {driver.execute_script('return document.body.innerText')}")


def complaints(driver: Any) -> list[str]:
    """Return the warnings and errors on the page's console since the last call."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def picture(driver: Any, path: Path) -> None:
    """Save a screenshot as a small file."""
    driver.save_screenshot(str(path))
    smaller(path)


def smaller(path: Path, colours: int = 255) -> None:
    """Reduce the colours of a picture, if Pillow is installed."""
    with contextlib.suppress(ImportError):
        from PIL import Image

        dither = Image.Dither.FLOYDSTEINBERG if colours > 64 else Image.Dither.NONE
        few = Image.open(path).convert("RGB").quantize(colours, Image.Quantize.FASTOCTREE, dither=dither)
        few.save(path, optimize=True)
