"""The extras that error messages name for missing packages."""

import configparser
import pickle
import re
from pathlib import Path

import pytest

from cc_env.errors import MissingExtra
from cc_env.registry import extras

# Distributions whose packages have other names.
DISTRIBUTIONS = {"pygame": "pygame_ce", "pyspiel": "open_spiel"}


def requirements():
    """Return the packages that each extra in setup.cfg names itself."""
    config = configparser.ConfigParser()
    config.read(Path(__file__).parents[2] / "setup.cfg", encoding="utf-8")
    return {
        extra: set(re.findall(r"^([\w-]+)", text, re.MULTILINE))
        for extra, text in config["options.extras_require"].items()
    }


@pytest.mark.parametrize("package", extras._EXTRAS)
def test_extra_of_a_package_installs_it(package):
    names = requirements()[extras.extra_of_package(f"{package}.module")]
    assert DISTRIBUTIONS.get(package, package) in {name.replace("-", "_") for name in names}


@pytest.mark.parametrize("module", ["numpy", "no_such_package", "", None])
def test_other_packages_have_no_extra(module):
    assert extras.extra_of_package(module) is None


def test_missing_extra_can_be_sent_to_another_process():
    error = pickle.loads(pickle.dumps(MissingExtra("this", "that", "train")))
    assert str(error) == (
        "this needs that: pip install 'PATH[train]', "
        "where PATH is the wheel file or the checkout of cc_env"
    )
