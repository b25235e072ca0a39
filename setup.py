"""Settings that setup.cfg cannot express: README for an index, and bundled packages of a wheel."""

import configparser
import re
import sys
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
LINK = re.compile(r"\[([^]]*)\]\((?!\w+:)([^)]*)\)")
PICTURE = re.compile(r'<img src="(?!\w+:)([^"]*)"([^>]*)>')
# The package of a wheel that contains agents and training, see cc_env/registry/plugins.py.
BUNDLE = "cc_env.bundled"


def source() -> str:
    """Return the address of the repository, "" if setup.cfg has none."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    lines = config.get("metadata", "project_urls", fallback="").splitlines()
    urls = {name.strip(): url.strip() for name, _, url in (line.partition("=") for line in lines)}
    return urls.get("Source", "")


def readme(text: str, source: str) -> str:
    """Return README for an index: links lead to the repository, or become text."""
    if not source:
        return PICTURE.sub("", LINK.sub(r"\1", text))
    text = PICTURE.sub(rf'<img src="{source}/raw/main/\1"\2>', text)
    return LINK.sub(rf"[\1]({source}/blob/main/\2)", text)


def bundled() -> dict[str, str]:
    """Return the folders of the packages that a wheel contains inside cc_env, by package."""
    # In a checkout they are next to cc_env.
    if "editable_wheel" in sys.argv:
        return {}
    packages = find_packages(str(ROOT), include=["agents*", "training*"])
    return {f"{BUNDLE}.{name}": name.replace(".", "/") for name in packages}


if __name__ == "__main__":
    setup(
        packages=[*find_packages(str(ROOT), include=["cc_env*"]), *bundled()],
        package_dir=bundled(),
        long_description=readme((ROOT / "README.md").read_text("utf-8"), source()),
        long_description_content_type="text/markdown",
    )
