"""Games of TextArena are played to the end, with illegal replies among them."""

import random

import pytest

from cc_env.registry.catalogue import GAMES

# The library's own warnings.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture
def textarena_game(heavy):
    """Return the example."""
    heavy("textarena")
    from examples.language_models import textarena_game

    return textarena_game


@pytest.mark.parametrize("game", GAMES)
def test_games_end_with_rewards(game, textarena_game):
    rng, num_replies = random.Random(0), 0

    def reply(player, text):
        nonlocal num_replies
        num_replies += 1
        if num_replies % 4 == 0:
            return "I do not know."
        return f"I play <turn>{rng.choice(text.split('Legal turns: ')[-1].split(', '))}</turn>"

    rewards, infos = textarena_game.main(game, reply)
    assert sorted(rewards.values()) in ([-1, 1], [0, 0])
    assert infos[0]["turn_count"] > 3
    assert not any(info["invalid_move"] for info in infos.values())


def test_second_illegal_reply_in_a_row_loses(textarena_game):
    rewards, infos = textarena_game.main(reply=lambda player, text: "I do not know.")
    assert rewards == {0: -1, 1: 1}
    assert infos[0]["invalid_move"]
    assert "chooses no turn" in infos[0]["reason"]


def test_first_legal_turns_play_a_game(textarena_game):
    rewards, _ = textarena_game.main("checkers")
    assert rewards[0] + rewards[1] == 0
