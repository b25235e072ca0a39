"""The perfect player: keeps the exact value in positions that tablebases cover, else searches."""

from collections.abc import Callable, Sequence

import numpy as np

from cc_env.core.game import Game, Turn
from cc_env.core.rules import Position
from cc_env.match.referee import Clock, Decision, Player
from cc_env.search.compare import ComparingPlayer, Comparison, Variation, play_forced
from cc_env.search.policies import PerfectPolicy, policy_of
from cc_env.search.scores import MARGIN, WIN
from cc_env.tablebase.tablebase import ExactValue, Tablebase

# Length of the lines of `compare`; a drawn game need not end.
_MAX_DECISIONS, _MAX_DRAWN_DECISIONS = 200, 8


class PerfectPlayer:
    """Plays a random action among those that keep the value; wins in the fewest turns.

    With `delay` it loses in the most turns and, among equally good actions, prefers those after
    which the largest share of the opponent's actions are mistakes. Source: Gévay and Danner,
    "Calculating Ultra-Strong and Extended Solutions for Nine Men's Morris, Morabaraba, and Lasker
    Morris" (2014).
    """

    def __init__(self, game: Game, tables: Tablebase, fallback: Player, *, delay: bool) -> None:
        """Use the decisions of `fallback` in positions that `tables` do not cover."""
        self._game, self._tables, self._fallback, self._delay = game, tables, fallback, delay

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return an action that keeps the value; raise IllegalAction if the game is over."""
        # Raises IllegalAction if the game is over.
        self._game.choices(position)
        solved = self._tables.get(position)
        if solved is None:
            return self._fallback.choose(position, rng, clock)
        actions = self._actions(position, solved)
        details = {"turns": solved.turns, "margin": solved.margin * solved.value}
        return Decision(int(rng.choice(actions)), float(solved.value), details)

    def compare(
        self, position: Position, turns: Sequence[Turn], seconds_left: Callable[[], float]
    ) -> Comparison:
        """Return the exact values of `turns`; those of `fallback` unless tables have all of them.

        `seconds_left` returns the remaining time in seconds.
        """
        variations = [self._exact_variation(position, turn) for turn in turns]
        exact = tuple(variation for variation in variations if variation)
        if len(exact) == len(turns):
            return Comparison(exact, 0, 0)
        assert isinstance(self._fallback, ComparingPlayer)
        return self._fallback.compare(position, turns, seconds_left)

    def _exact_variation(self, position: Position, turn: Turn) -> Variation | None:
        """Return a turn with its exact value, followed by best play; None if no table has it."""
        game = self._game
        after, actions, num_turns = play_forced(game, position, turn)
        solved = self._tables.get(after)
        if solved is None:
            return None
        sign = 1 if game.to_move(after) == game.to_move(position) else -1
        value = sign * solved.value
        score = value * (WIN + MARGIN * (solved.margin - 1) - num_turns - solved.turns)
        line = self._best_line(after, _MAX_DECISIONS if value else _MAX_DRAWN_DECISIONS)
        return Variation(actions + line, float(value), score, is_exact=True)

    def _best_line(self, position: Position, max_decisions: int) -> Turn:
        """Return the best decisions of both players, until the end or up to a number of them."""
        line: Turn = ()
        while len(line) < max_decisions:
            solved = self._tables.get(position)
            if solved is None or not solved.best:
                break
            line += solved.best[:1]
            position = self._game.apply(position, solved.best[0])
        return line

    def make_policy(self) -> PerfectPolicy | None:
        """Return a compiled policy that decides as this player.

        None with `delay`, if the decisions of `fallback` are not compiled, and if the tables are
        too large to be kept in memory.
        """
        fallback = None if self._delay else policy_of(self._fallback)
        probing = None if fallback is None else self._tables.make_probing()
        if fallback is None or probing is None:
            return None
        return PerfectPolicy(probing, np.bool_(self._game.max_margin > 1), fallback)

    def _actions(self, position: Position, solved: ExactValue) -> list[int]:
        """Return the candidate actions, of which `choose` takes one at random."""
        needs_best = solved.value > 0 or self._delay or self._game.max_margin > 1
        actions = list(solved.best if needs_best else solved.value_keeping)
        if not self._delay or len(actions) == 1:
            return actions
        shares = [self._mistake_share(self._game.apply(position, action)) for action in actions]
        highest = max(shares)
        return [action for action, share in zip(actions, shares, strict=True) if share == highest]

    def _mistake_share(self, position: Position) -> float:
        """Return the share of the opponent's actions that lose value in a position.

        An unfinished turn is completed by the actions with the highest share.
        """
        solved = self._tables.get(position)
        if solved is None or not solved.actions:
            return 0.0
        if self._game.mid_turn(position):
            afters = (self._game.apply(position, action) for action in solved.best)
            return max(map(self._mistake_share, afters))
        return 1 - len(solved.value_keeping) / len(solved.actions)

    def stop(self) -> None:
        """Stop a search in another thread; it returns its best result so far."""
        if hasattr(self._fallback, "stop"):
            self._fallback.stop()
