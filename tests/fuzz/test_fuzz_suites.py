"""Altered suites of hard positions are rejected or usable."""

import pytest
from fuzz.harness import call_or_reject
from fuzz.mutations import lines
from hypothesis import given

from cc_env.accuracy.hard_positions import SHIPPED, read_suite, suite_file_name
from cc_env.games.factory import make_game


@pytest.mark.parametrize("size", [4, 5])
def test_altered_suites_raise_only_cc_env_errors(size, tmp_path):
    game, path = make_game("capture_conquer", size=size), tmp_path / "suite.jsonl"
    good = (SHIPPED / suite_file_name(game)).read_text().splitlines()[:3]

    @given(lines(good))
    def fuzz(line):
        path.write_text(f"{good[0]}\n{line}", "utf-8", "surrogatepass")
        for hard in call_or_reject(read_suite, path, game) or ():
            assert hard.action in game.legal_actions(hard.position)

    fuzz()
