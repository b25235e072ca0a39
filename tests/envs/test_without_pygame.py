"""Environments in an installation without pygame-ce."""

import subprocess
import sys

import pytest

CODE = """
import sys

sys.modules["pygame"] = None
import gymnasium
from gymnasium.utils.env_checker import check_env

from cc_env.envs.aec import BoardGameAEC

name = "cc_env/MiniCheckers-v0"
env = gymnasium.make(name)
check_env(env.unwrapped)
envs = gymnasium.make_vec(name, 2, render_mode="ansi")
envs.reset()
aec = BoardGameAEC("mini_checkers")
print(env.metadata["render_modes"], envs.metadata["render_modes"], aec.metadata["render_modes"])
for make in (gymnasium.make, gymnasium.make_vec):
    try:
        make(name, render_mode="rgb_array")
    except ImportError as error:
        print(error)
"""
MISSING = (
    "pictures as pixels needs pygame-ce: pip install 'PATH[render]', where PATH is the wheel file "
    "or the checkout of cc_env\n"
)


@pytest.mark.slow
def test_environments_declare_only_text_without_pygame():
    command = [sys.executable, "-W", "ignore", "-c", CODE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"['ansi'] ['ansi', 'ansi_list'] ['ansi']\n{MISSING}{MISSING}"
