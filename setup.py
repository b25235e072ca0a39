"""What setup.cfg cannot say: README as an index shows it, and what a wheel has of a checkout."""

import configparser
import re
import sys
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
LINK = re.compile(r"\[([^]]*)\]\((?!\w+:)([^)]*)\)")
PICTURE = re.compile(r'<img src="(?!\w+:)([^"]*)"([^>]*)>')
TOGETHER = "cc_env.bundled"  # where a wheel has agents and training, see cc_env/registry/plugins.py


def source() -> str:
    """Return the address of the repository, "" as long as setup.cfg has none."""
    config = configparser.ConfigParser()
    config.read(HERE / "setup.cfg", encoding="utf-8")
    lines = config.get("metadata", "project_urls", fallback="").splitlines()
    urls = {name.strip(): url.strip() for name, _, url in (line.partition("=") for line in lines)}
    return urls.get("Source", "")


def readme(text: str, source: str) -> str:
    """Return README as an index needs it: links lead to the repository, or are text."""
    if not source:
        return PICTURE.sub("", LINK.sub(r"\1", text))
    text = PICTURE.sub(rf'<img src="{source}/raw/main/\1"\2>', text)
    return LINK.sub(rf"[\1]({source}/blob/main/\2)", text)


def bundled() -> dict[str, str]:
    """Return the packages of a checkout that a wheel has inside cc_env, and their folders."""
    if "editable_wheel" in sys.argv:  # they are beside it
        return {}
    packages = find_packages(str(HERE), include=["agents*", "training*"])
    return {f"{TOGETHER}.{name}": name.replace(".", "/") for name in packages}


if __name__ == "__main__":
    setup(
        packages=[*find_packages(str(HERE), include=["cc_env*"]), *bundled()],
        package_dir=bundled(),
        long_description=readme((HERE / "README.md").read_text("utf-8"), source()),
        long_description_content_type="text/markdown",
    )
