"""The perfect player: keeps the exact value in positions that tablebases cover, else searches."""

import numpy as np

from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.match.referee import Clock, Decision, Player
from cc_env.search.policies import PerfectPolicy, policy_of
from cc_env.tablebase.tablebase import ExactValue, Tablebase


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
