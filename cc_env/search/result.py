"""The result of a search: the move, its value, and statistics."""

from dataclasses import dataclass
from typing import Any

from cc_env.search.scores import proven_margin


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """The result of alpha-beta or of a tree search, with its statistics.

    Only `line` is set if there was a single legal action, which needs no search.
    """

    # Principal variation: actions, starting with the one to play.
    line: tuple[int, ...]
    # Expected result for the player to move, -1 to 1; None if nothing was searched.
    value: float | None = None
    # Completed turns of alpha-beta; decisions of the longest path of a tree search.
    depth: int = 0
    # Positions visited by alpha-beta; simulations of a tree search.
    nodes: int = 0
    # Duration of the search.
    seconds: float = 0.0
    # Only alpha-beta: the value in evaluation units, a win being near 1,000,000; whether the whole
    # game tree was searched; cutoffs at nodes of the root player and of the opponent.
    score: int | None = None
    is_exact: bool = False
    cuts_max: int = 0
    cuts_min: int = 0
    # Only tree search: (action, visits), most visited first.
    visits: tuple[tuple[int, int], ...] = ()

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
        """The search speed; 0 if no time was measured."""
        return self.nodes / self.seconds if self.seconds else 0.0

    def details(self) -> dict[str, Any]:
        """Return the statistics by name, for the `details` of a decision."""
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
