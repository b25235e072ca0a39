"""make test-pythons: the tests of the core by every installed Python that is supported.

A Python is installed if `python3.X` runs or pyenv has it. Each has a virtual environment of its
own, in which the library is installed as its users install it.

make test-numba: the same by one Python, with numba's newest release or release candidate.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = "3.11", "3.12", "3.13", "3.14", "3.15"
# PettingZoo 1.27 declares that it needs Python before 3.15, but works with it.
PIP_OPTIONS = {"3.15": ["--ignore-requires-python"]}
EXTRAS = "cli,pettingzoo,render"
NEEDED = "pytest >=8.3, <10", "hypothesis >=6.120, <7"
TESTS = (
    *("games/test_every_game.py", "envs/test_every_environment.py", "envs/test_aec.py"),
    "match/test_match.py",
)
NEWEST_NUMBA = "--newest-numba"


def pythons() -> dict[str, str]:
    """Return the installed interpreters by version."""
    by_version = {}
    for version in VERSIONS:
        home = Path.home() / ".pyenv/versions"
        candidates = [*home.glob(f"{version}.*/bin/python"), shutil.which(f"python{version}")]
        works = (
            str(candidate)
            for candidate in candidates
            if candidate and _version(str(candidate)) == version
        )
        if python := next(works, None):
            by_version[version] = python
    return by_version


def _version(python: str) -> str:
    ask = "import sys; print('{}.{}'.format(*sys.version_info))"
    return subprocess.run([python, "-c", ask], capture_output=True, text=True).stdout.strip()


def check(version: str, python: str, newest_numba: bool = False) -> bool:
    """Return whether the tests pass with a Python, in a new venv."""
    venv = ROOT / "build" / f"python{version}"
    ours = str(venv / "bin/python")
    subprocess.run([python, "-m", "venv", "--clear", venv], check=True)
    pip = [ours, "-m", "pip", "install", "--quiet", *PIP_OPTIONS.get(version, [])]
    subprocess.run([*pip, f"{ROOT}[{EXTRAS}]", *NEEDED], check=True)
    if newest_numba:
        subprocess.run([*pip, "--upgrade", "--pre", "numba"], check=True)
        subprocess.run(
            [ours, "-c", "import numba; print(f'numba {numba.__version__}')"], check=True
        )
    tests = [str(ROOT / "tests" / name) for name in (*TESTS, *["jit"] * newest_numba)]
    # Stable-Baselines3 is not installed.
    selection = ["-m", "not slow", "-k", "not stable_baselines"]
    return not subprocess.run([ours, "-m", "pytest", *selection, *tests], cwd=ROOT).returncode


def main() -> int:
    """Test with the versions that are named, by default all installed ones; return the status."""
    if sys.argv[1:] == [NEWEST_NUMBA]:
        return not check("newest-numba", sys.executable, newest_numba=True)
    interpreters = pythons()
    named = sys.argv[1:]
    versions = [version for version in named or VERSIONS if version in interpreters]
    missing = [version for version in named or VERSIONS if version not in interpreters]
    failed = [version for version in versions if not check(version, interpreters[version])]
    print(f"tested: {versions}; failed: {failed}; not installed: {missing}")
    return bool(failed or not versions or (named and missing))


if __name__ == "__main__":
    sys.exit(main())
