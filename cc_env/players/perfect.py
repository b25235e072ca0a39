"""The perfect player: it keeps the exact value wherever tables have it, and searches elsewhere."""

import numpy as np

from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.match.referee import Clock, Decision, Player
from cc_env.tablebase.tablebase import ExactValue, Tablebase


class PerfectPlayer:
    """Plays a random one of the actions that keep the value; wins as soon as it can.

    With `delay` it loses as late as it can and, among actions as good as each other, prefers those
    after which most of the opponent's actions are mistakes. Source of the idea: Gévay and Danner,
    "Calculating Ultra-Strong and Extended Solutions for Nine Men's Morris, Morabaraba, and Lasker
    Morris" (2014).
    """

    def __init__(self, game: Game, tables: Tablebase, elsewhere: Player, *, delay: bool) -> None:
        """Ask `elsewhere` where no table has a position."""
        self._game, self._tables, self._elsewhere, self._delay = game, tables, elsewhere, delay

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return an action that keeps the value."""
        self._game.choices(position)  # raises where the game is over
        solved = self._tables.get(position)
        if solved is None:
            return self._elsewhere.choose(position, rng, clock)
        actions = self._actions(position, solved)
        details = {"turns": solved.turns, "margin": solved.margin * solved.value}
        return Decision(int(rng.choice(actions)), float(solved.value), details)

    def _actions(self, position: Position, solved: ExactValue) -> list[int]:
        """Return the actions among which chance decides."""
        soonest = solved.value > 0 or self._delay or self._game.max_margin > 1
        actions = list(solved.best if soonest else solved.value_keeping)
        if not self._delay or len(actions) == 1:
            return actions
        traps = [self._mistakes(self._game.apply(position, action)) for action in actions]
        most = max(traps)
        return [action for action, share in zip(actions, traps, strict=True) if share == most]

    def _mistakes(self, position: Position) -> float:
        """Return which share of the opponent's actions does not keep the value of a position.

        A turn that goes on is finished in the way that leaves the most.
        """
        solved = self._tables.get(position)
        if solved is None or not solved.actions:
            return 0.0
        if self._game.mid_turn(position):
            return max(self._mistakes(self._game.apply(position, a)) for a in solved.best)
        return 1 - len(solved.value_keeping) / len(solved.actions)

    def stop(self) -> None:
        """End a search that runs in another thread with what it has found."""
        if hasattr(self._elsewhere, "stop"):
            self._elsewhere.stop()
