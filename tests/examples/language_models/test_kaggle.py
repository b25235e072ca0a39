"""Games of kaggle-environments are played to the end; illegal replies and errors lose.

The framework itself replaces the reward of such a player by None.
"""

import random

import pytest

from cc_env.registry.catalogue import GAMES

# The library's own warnings.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture
def kaggle_game(heavy):
    """Return the example."""
    heavy("kaggle_environments")
    from examples.language_models import kaggle_game

    return kaggle_game


@pytest.mark.parametrize("game", GAMES)
def test_games_end_with_rewards(game, kaggle_game):
    rng = random.Random(0)

    def agent(observation, configuration):
        turns = observation.text.split("Legal turns: ")[-1].split(", ")
        return f"I compare my turns, so I play <turn>{rng.choice(turns)}</turn>."

    rewards, statuses = kaggle_game.main(game, agent, agent)
    assert sorted(rewards) in ([-1, 1], [0, 0])
    assert statuses == ["DONE", "DONE"]


def fail(observation, configuration):
    raise RuntimeError


@pytest.mark.parametrize(
    ("agent", "status"),
    [(lambda observation, configuration: "I do not know.", "INVALID"), (fail, "ERROR")],
)
def test_illegal_replies_and_errors_lose(agent, status, kaggle_game):
    rewards, statuses = kaggle_game.main("checkers", second=agent)
    assert (rewards, statuses) == ([1, None], ["DONE", status])


def test_observations_and_pictures_are_those_of_their_step(kaggle_game):
    env = kaggle_game.kaggle.make("cc_env", configuration={"game": "morris"})
    trainer = env.train([None, kaggle_game.play_first_turn])
    observation = trainer.reset()
    assert observation.rules.startswith("Rules of nine men's morris")
    assert "You are white" in observation.text
    assert observation.text.count("Legal turns: A, B, C") == 1
    observation, reward, is_over, _ = trainer.step("<turn>B</turn>")
    assert (reward, is_over) == (0, False)
    assert [len(states[0].observation.actions) for states in env.steps] == [0, 1, 2]
    assert "Legal turns: C, D" in observation.text
    assert env.render(mode="ansi").count("w") == 1
    again = kaggle_game.kaggle.make("cc_env", configuration={"game": "morris"}, steps=env.steps)
    assert again.render(mode="ansi") == env.render(mode="ansi")
