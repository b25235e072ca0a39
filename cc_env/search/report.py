"""What a search found."""

from dataclasses import dataclass
from typing import Any

from cc_env.search.scores import margin


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a search found, and how much it did for it."""

    line: tuple[int, ...]  # the principal variation: what to play, and what is expected to follow
    value: float | None  # expected result for the player to move, -1 to 1; None if not asked for
    depth: int  # turns looked ahead in full; in a tree, decisions of its longest path
    nodes: int  # positions looked at; in a tree, simulations
    seconds: float
    score: int | None = None  # alpha-beta: the value, as the evaluation counts; a win: 1,000,000
    is_exact: bool = False  # alpha-beta: all was searched to the end of the game
    cuts_max: int = 0  # alpha-beta: cut-offs where the player to move at the root was to move
    cuts_min: int = 0  # and where his opponent was
    visits: tuple[tuple[int, int], ...] = ()  # tree: (action, simulations), most first

    @property
    def action(self) -> int:
        """Return what to play."""
        return self.line[0]

    @property
    def margin(self) -> int | None:
        """Return by how much it is proved to be won (below 0: lost, 0: drawn); None: it is not."""
        if self.score is None:
            return None
        return 0 if self.score == 0 and self.is_exact else margin(self.score)

    @property
    def nodes_per_second(self) -> float:
        """Return how many."""
        return self.nodes / self.seconds if self.seconds else 0.0

    def details(self) -> dict[str, Any]:
        """Return what `cc_env.referee.Decision` carries: all that this kind of search knows."""
        details = {
            "depth": self.depth,
            "nodes": self.nodes,
            "nodes_per_second": self.nodes_per_second,
            "principal_variation": self.line,
        }
        if self.score is not None:
            cuts = {"cuts_max": self.cuts_max, "cuts_min": self.cuts_min}
            details |= {"score": self.score, **cuts}
        if self.margin is not None:
            details["margin"] = self.margin
        if self.is_exact:
            details["exact"] = True
        if self.visits:
            details["visits"] = self.visits
        return details
