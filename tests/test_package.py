"""What the wheel and the source archive hold, and what an index shows."""

import email
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import cc_env
import setup as setup_file

ROOT = Path(__file__).parents[1]


def files(pattern, folder=ROOT):
    names = (path.relative_to(ROOT).as_posix() for path in folder.glob(pattern))
    return {name for name in names if "__pycache__" not in name}


@pytest.fixture
def archive(wheel):
    """Return the wheel, opened."""
    with zipfile.ZipFile(wheel) as opened:
        yield opened


@pytest.mark.slow
def test_wheel_contains_the_library_and_plugins(archive):
    names = set(archive.namelist())
    assert Path(archive.filename).name.startswith(f"cc_env-{cc_env.__version__}-")
    assert {name.split("/")[0].split("-")[0] for name in names} == {"cc_env"}
    assert (
        files("cc_env/**/*.py")
        | files("cc_env/server/page/*")
        | files("cc_env/play/lesson_files/*")
        | files("cc_env/tablebase/shipped/*.exact")
        | files("cc_env/learned_evaluation/shipped/*.network")
        <= names
    )
    assert {"cc_env/py.typed", "cc_env/play/notebook.js", "cc_env/play/notebook.css"} <= names
    plugin_files = (
        files("agents/**/*.py") | files("training/**/*.py") | {"training/arena/report.html"}
    )
    plugin_files |= files("agents/weights/*/*/best.safetensors")
    assert {f"cc_env/bundled/{name}" for name in plugin_files} <= names
    assert not any("test" in name for name in names)


@pytest.mark.slow
def test_wheel_has_complete_metadata(archive):
    (place,) = [name for name in archive.namelist() if name.endswith("METADATA")]
    metadata = email.message_from_bytes(archive.read(place))
    assert (metadata["Author"], metadata["License"]) == ("cc_env developers", "MIT")
    assert "board games" in metadata["Keywords"]
    description = metadata.get_payload()
    assert description.startswith("# cc_env")
    targets = re.findall(r"\]\(([^)]*)\)|(?:src|href)=\"([^\"]*)\"", description)
    assert all("://" in "".join(target) for target in targets)
    (scripts,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
    assert "cc_env = cc_env.__main__:main" in archive.read(scripts).decode()


def test_readme_links_are_absolute_if_the_repository_has_an_address():
    text = '[docs](docs/index.md), [web](https://a.b), <img src="notebooks/board.svg" width="3">'
    assert setup_file.readme(text, "") == "docs, [web](https://a.b), "
    assert setup_file.readme(text, "https://x.y/z") == (
        "[docs](https://x.y/z/blob/main/docs/index.md), [web](https://a.b), "
        '<img src="https://x.y/z/raw/main/notebooks/board.svg" width="3">'
    )


@pytest.mark.slow
def test_source_archive_is_a_complete_checkout(tmp_path):
    build = "from setuptools import build_meta; print(build_meta.build_sdist(r'{}'))"
    run = [sys.executable, "-c", build.format(tmp_path)]
    subprocess.run(run, check=True, capture_output=True, cwd=ROOT)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    expected = set(listed.stdout.split()) or files("tests/**/*") | files("docs/**/*")
    assert {name for name in expected if (ROOT / name).is_file()} <= names


def test_importing_the_package_does_not_import_the_compiler():
    code = "import cc_env, sys; print('numba' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"
