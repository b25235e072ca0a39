"""The description of positions for tables of exact values.

Only positions between turns are numbered. They consist of K sets of cells and, in some games, a
small `state`. The sizes of the sets are the position's *material*. `cc_env.tablebase.ranking`
numbers the positions of each material.
"""

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cc_env.core.rules import Position
from cc_env.core.symmetry import Symmetry

# The sizes of the sets of a position.
Material = tuple[int, ...]  # [K]

MAX_CELLS = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class Numbering:
    """The description of the positions of a game for tables; the rules register its functions.

    Sets come in pairs of one kind of pieces: those of the player to move and those of the opponent.
    A turn swaps them. From the third set on, every cell may be occupied. Tables are valid for all
    games with equal `options`, a subset of the game's options.
    """

    # The position from which `from_sets` copies everything but sets and state.
    like: Position
    # The cells that the pieces of a set can occupy, as bits.
    cells: tuple[int, ...]  # [K]
    # Weight of each kind of piece. Irreversible turns lower the sum over all pieces.
    weights: tuple[int, ...]  # [K / 2]
    # A letter for each kind of piece; empty if there is one kind.
    kinds: tuple[str, ...] = ("",)  # [K / 2]
    # Limits of the number of pieces of one side while the game is in progress.
    max_pieces: int = MAX_CELLS
    min_pieces: int = 1
    num_states: int = 1
    # Symmetries that form a group, without the identity.
    symmetries: tuple[Symmetry, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    # By field, the bits that hold the rules; they equal those of `like`.
    rule_bits: Mapping[str, int] = field(default_factory=dict)
    # Whether no position can repeat.
    is_acyclic: bool = False
    # The function registered as `rules.unmoves`.
    unmoves: Callable[..., Any] | None = None
    # Limit of the pieces that a turn captures.
    max_captures: int = MAX_CELLS

    @property
    def num_cells(self) -> int:
        """The number of cells, and so the greatest number of pieces of both sides."""
        return (self.cells[0] | self.cells[1]).bit_count()

    def has_same_rules(self, position: Position) -> bool:
        """Return whether a position belongs to this game and has the rules of the tables."""
        like = self.like
        if type(position) is not type(like):
            return False
        # A loop is faster than `all` here, and every probe runs it.
        for name, bits in self.rule_bits.items():
            if (int(getattr(position, name)) ^ int(getattr(like, name))) & bits:
                return False
        return True

    def label(self, material: Material) -> str:
        """Return the name of a material, such as 3v2 or 2m1kv1k; the player to move comes first."""
        return "v".join(self._side(material[side::2]) for side in (0, 1))

    def _side(self, counts: Material) -> str:
        if len(counts) == 1:
            return str(counts[0])
        pairs = zip(counts, self.kinds, strict=True)
        return "".join(f"{count}{kind}" for count, kind in pairs if count)

    def parse_label(self, label: str) -> Material | None:
        """Return the material with this name, or None if no table has it."""
        kinds = "".join(
            f"(?:([0-9]{{1,2}}){kind})?" if kind else "([0-9]{1,2})" for kind in self.kinds
        )
        match = re.fullmatch(f"{kinds}v{kinds}", label)
        if not match:
            return None
        counts = [int(count or 0) for count in match.groups()]
        num_kinds = len(self.kinds)
        pairs = zip(counts[:num_kinds], counts[num_kinds:], strict=True)
        material = tuple(count for pair in pairs for count in pair)
        sides = sum(material[::2]), sum(material[1::2])
        is_possible = sum(sides) <= self.num_cells and all(
            self.min_pieces <= side <= self.max_pieces for side in sides
        )
        is_canonical = material >= swap_sides(material) and self.label(material) == label
        return material if is_possible and is_canonical else None

    def materials(self, sides: tuple[int, int], total: int) -> list[Material]:
        """Return the materials within limits, in the order in which they are solved.

        `sides` are the limits of the stronger and the weaker side, `total` that of both. Of a
        material and its `swap_sides` only the greater is listed.
        """
        total = min(total, self.num_cells)
        max_pieces = min(self.max_pieces, max(sides), total - self.min_pieces)
        one_side = [
            counts
            for counts in itertools.product(range(max_pieces + 1), repeat=len(self.kinds))
            if self.min_pieces <= sum(counts) <= max_pieces
        ]
        solvable = []
        for own, enemy in itertools.product(one_side, repeat=2):
            weaker, stronger = sorted((sum(own), sum(enemy)))
            fits = stronger <= max(sides) and weaker <= min(sides) and weaker + stronger <= total
            material = tuple(n for pair in zip(own, enemy, strict=True) for n in pair)
            if fits and material >= swap_sides(material):
                solvable.append(material)
        return sorted(solvable, key=lambda material: (self.weight(material), material))

    def weight(self, material: Material) -> int:
        """Return the sum of the weights of all pieces, which no turn raises."""
        weights = [weight for weight in self.weights for _ in (0, 1)]
        return sum(w * count for w, count in zip(weights, material, strict=True))

    def prerequisites(self, material: Material) -> list[Material]:
        """Return the materials that turns may lead to, in the order in which they are solved."""
        own, enemy = sum(material[::2]), sum(material[1::2])
        return [
            other
            for other in self.materials((max(own, enemy), min(own, enemy)), own + enemy)
            if any(
                self.leads_to(before, after)
                for before in (material, swap_sides(material))
                for after in (other, swap_sides(other))
            )
        ]

    def leads_to(self, material: Material, other: Material) -> bool:
        """Return whether a turn may lead to another material, each with the player to move first.

        The other one weighs less, the turn captures at most `max_captures` pieces, and the player
        who makes it loses none.
        """
        captures = sum(material[1::2]) - sum(other[::2])
        return (
            self.weight(other) < self.weight(material)
            and sum(other[1::2]) == sum(material[::2])
            and 0 <= captures <= self.max_captures
        )


def swap_sides(material: Material) -> Material:
    """Return a material from the opponent's point of view."""
    pairs = zip(material[::2], material[1::2], strict=True)
    return tuple(count for own, enemy in pairs for count in (enemy, own))
