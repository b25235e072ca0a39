"""TextArena: every game as an environment of two players.

Run        python -m examples.language_models.textarena_game --game checkers
Tested     textarena 0.7.4
"""

import argparse
from collections.abc import Callable

import textarena as ta

import cc_env
from cc_env.core.rules import DRAW
from cc_env.errors import IllegalAction
from cc_env.match.match import Match
from cc_env.text.prompts import describe_position, instructions, list_turns
from cc_env.text.turns import find_turn, legal_turn_texts


class BoardGame(ta.Env):
    """A game with its options; a second illegal reply in a row loses."""

    def __init__(self, game: str = "capture_conquer", **options: object) -> None:
        self.game = cc_env.make_game(game, **options)

    def reset(self, num_players: int, seed: int | None = None) -> None:
        self.state, self.match = ta.TwoPlayerState(num_players, seed), Match(self.game)
        self.state.reset(player_prompt_function=lambda **player: instructions(self.game))
        self._describe()

    def step(self, action: str) -> tuple[bool, ta.Info]:
        try:
            for each in find_turn(self.game, self.match.position, action):
                self.match.play(each)
        except IllegalAction as error:
            self.state.set_invalid_move(str(error))
        if self.match.result is None:
            self._describe()
        elif self.match.result.outcome == DRAW:
            self.state.set_draw(self.match.result.reason)
        else:
            self.state.set_winner(self.match.result.outcome, self.match.result.reason)
        return self.state.step()

    def _describe(self) -> None:
        board = describe_position(self.game, self.match.position, self.match.mover)
        text = f"{board}\n{list_turns(legal_turn_texts(self.game, self.match.position))}"
        self.state.add_observation(text, ta.ObservationType.GAME_BOARD, to_id=self.match.mover)


ta.envs.registration.register("CcEnv-v0", BoardGame)


def play_first_turn(player: int, observation: str) -> str:
    """Return a reply with the first of the legal turns."""
    return f"<turn>{observation.split('Legal turns: ')[-1].split(', ')[0]}</turn>"


def main(
    game: str = "capture_conquer", reply: Callable[[int, str], str] = play_first_turn
) -> tuple[ta.Rewards, ta.Info]:
    """Play a game; return the rewards and the infos of both players.

    `reply(player, observation)` returns a reply.
    """
    env = ta.make("CcEnv-v0", game=game)
    env.reset(num_players=2, seed=0)
    is_over = False
    while not is_over:
        player, observations = env.get_observation()
        is_over, _ = env.step(reply(player, observations[-1][1]))
    return env.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--game", default="capture_conquer")
    print(main(**vars(parser.parse_args())))
