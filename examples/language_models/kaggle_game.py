"""Kaggle environments: every game for two agents, in one's own processes.

Run        python -m examples.language_models.kaggle_game --game checkers
Tested     kaggle-environments 1.33.2, without the packages that its own environments need
"""

import argparse
from collections.abc import Callable
from typing import Any

import kaggle_environments as kaggle

import cc_env
from cc_env.core.rules import DRAW
from cc_env.errors import IllegalAction
from cc_env.match.match import Match
from cc_env.text.board import board_text
from cc_env.text.prompts import describe_position, instructions, list_turns
from cc_env.text.turns import find_turn, legal_turn_texts

TEXT = {"type": "string", "default": ""}
SPECIFICATION = {
    "name": "cc_env",
    "title": "Board games of cc_env",
    "agents": [2],
    "configuration": {"game": {"type": "string", "default": "capture_conquer"}},
    # `actions` are the decisions of both players so far.
    "observation": {
        "rules": TEXT,
        "text": TEXT,
        "actions": {"type": "array", "default": [], "shared": True},
    },
    "action": TEXT,
    "reward": {"type": "number", "default": 0},
}


def read_match(state: Any, env: Any) -> Match:
    """Return the match after the decisions in the observation."""
    match = Match(cc_env.make_game(env.configuration.game))
    for action in state[0].observation.actions:
        match.play(action)
    return match


def interpret(state: Any, env: Any) -> Any:
    """Play the reply of the player to move; an illegal one, an error or a timeout loses."""
    match = read_match(state, env)
    active = state[match.mover]
    # There is no reply before the first state of a game.
    if not env.done:
        try:
            turn = find_turn(match.game, match.position, active.action or "")
            state[0].observation.actions += turn
            match = read_match(state, env)
        except IllegalAction:
            match.forfeit(match.mover, "illegal")
            active.status = active.status.replace("ACTIVE", "INVALID")
    for seat, agent in enumerate(state):
        if match.result:
            agent.status = {"ACTIVE": "DONE", "INACTIVE": "DONE"}.get(agent.status, agent.status)
            winner = match.result.outcome
            agent.reward = 0 if winner == DRAW else 1 if winner == seat else -1
        else:
            agent.status = "ACTIVE" if seat == match.mover else "INACTIVE"
            board = describe_position(match.game, match.position, seat)
            turns = list_turns(legal_turn_texts(match.game, match.position))
            agent.observation.update(rules=instructions(match.game), text=f"{board}\n{turns}")
    return state


def render(state: Any, env: Any) -> str:
    """Return the board as text."""
    match = read_match(state, env)
    return board_text(match.game, match.position)


kaggle.register(
    "cc_env",
    {
        "specification": SPECIFICATION,
        "interpreter": interpret,
        "renderer": render,
        "html_renderer": lambda: "",
    },
)

Agent = Callable[[Any, Any], str]


def play_first_turn(observation: Any, configuration: Any) -> str:
    """Return a reply with the first of the legal turns."""
    return f"<turn>{observation.text.split('Legal turns: ')[-1].split(', ')[0]}</turn>"


def main(
    game: str = "capture_conquer", first: Agent = play_first_turn, second: Agent = play_first_turn
) -> tuple[list[float], list[str]]:
    """Play a game of two agents; return the rewards and the last status of both."""
    env = kaggle.make("cc_env", configuration={"game": game})
    env.run([first, second])
    return [each.reward for each in env.state], [each.status for each in env.state]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--game", default="capture_conquer")
    print(main(**vars(parser.parse_args())))
