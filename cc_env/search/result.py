"""The result of a search: the move, its value, and statistics."""

from dataclasses import dataclass
from typing import Any

from cc_env.search.scores import proven_margin


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """The result of alpha-beta or of a tree search, with its statistics."""

    line: tuple[int, ...]  # principal variation: actions, the first being the one to play
    value: float | None  # expected result for the player to move, -1 to 1; None: not searched
    depth: int  # alpha-beta: completed turns; tree search: decisions of the longest path
    nodes: int  # alpha-beta: positions visited; tree search: simulations
    seconds: float
    score: int | None = None  # alpha-beta: the value in evaluation units; a win is near 1,000,000
    is_exact: bool = False  # alpha-beta: the whole game tree was searched
    cuts_max: int = 0  # alpha-beta: cutoffs at nodes of the root player
    cuts_min: int = 0  # alpha-beta: cutoffs at nodes of the opponent
    visits: tuple[tuple[int, int], ...] = ()  # tree search: (action, visits), most visited first

    @property
    def action(self) -> int:
        """The action to play."""
        return self.line[0]

    @property
    def margin(self) -> int | None:
        """The proven margin of the win (negative: loss, 0: draw); None if nothing is proven."""
        if self.score is None:
            return None
        return 0 if self.score == 0 and self.is_exact else proven_margin(self.score)

    @property
    def nodes_per_second(self) -> float:
        """Search speed; 0 if no time was measured."""
        return self.nodes / self.seconds if self.seconds else 0.0

    def details(self) -> dict[str, Any]:
        """Return the statistics, as the `details` of a `cc_env.match.referee.Decision`."""
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
