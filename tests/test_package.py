"""The wheel holds the library and nothing else."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import cc_env

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_the_wheel_holds_the_library_alone(tmp_path):
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", tmp_path, ROOT], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert wheel.name.startswith(f"cc_env-{cc_env.__version__}-")
    assert {name.split("/")[0].split("-")[0] for name in names} == {"cc_env"}
    sources = {p.relative_to(ROOT).as_posix() for p in (ROOT / "cc_env").rglob("*.py")}
    folders = "cc_env/play/page/*", "cc_env/play/notebook.*", "cc_env/lessons/*"
    data = [path for folder in folders for path in ROOT.glob(folder)]
    others = {p.relative_to(ROOT).as_posix() for p in data}
    assert sources | others | {"cc_env/py.typed"} <= set(names)
