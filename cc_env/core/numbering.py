"""How the positions of a game are described for tables of exact values.

Only positions between turns are numbered. They consist of K sets of cells and, in some games, of a
small `state`. The sizes of the sets are the position's *material*. `cc_env.tablebase.ranking`
numbers the positions of each material.
"""

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cc_env.core.rules import Position
from cc_env.core.symmetry import Symmetry

Material = tuple[int, ...]  # [K] the sizes of the sets

MOST_CELLS = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class Numbering:
    """The facts of a game by which its positions are numbered; see `rules.register_numbering`.

    Sets come in pairs, one of the player to move and one of the opponent, of the same kind of
    pieces; a turn swaps them. From the third set on, all cells can be stood on. `options` are those
    of the game's options that values depend on: tables are good for all games that share them;
    `rules` says where a position holds them.
    """

    like: Position  # what `from_sets` completes the sets by
    cells: tuple[int, ...]  # [K] where the pieces of a set can stand, as bits
    weights: tuple[int, ...]  # [K / 2] of a piece, by kind; what cannot be undone lowers the sum
    kinds: tuple[str, ...] = ("",)  # [K / 2] a letter for each kind; none if there is one kind
    most: int = MOST_CELLS  # pieces of one side
    fewest: int = 1  # pieces of each side while the game goes on
    states: int = 1
    symmetries: tuple[Symmetry, ...] = ()  # a group, without the identity
    options: Mapping[str, Any] = field(default_factory=dict)
    rules: Mapping[str, int] = field(default_factory=dict)  # bits of fields, the same as in `like`
    is_acyclic: bool = False  # no position can come again

    @property
    def room(self) -> int:
        """How many cells there are: no more pieces of both sides."""
        return (self.cells[0] | self.cells[1]).bit_count()

    def has_rules_of(self, position: Position) -> bool:
        """Return whether a position is of this game, by the same rules as far as they matter."""
        like = self.like
        if type(position) is not type(like):
            return False
        for name, bits in self.rules.items():  # for each probe, so no generator
            if (int(getattr(position, name)) ^ int(getattr(like, name))) & bits:
                return False
        return True

    def label(self, material: Material) -> str:
        """Return the name of a material, such as 3v2 or 2m1kv1k, the player's own pieces first."""
        return "v".join(self._side(material[side::2]) for side in (0, 1))

    def _side(self, counts: Material) -> str:
        if len(counts) == 1:
            return str(counts[0])
        named = zip(counts, self.kinds, strict=True)
        return "".join(f"{count}{kind}" for count, kind in named if count)

    def material(self, label: str) -> Material | None:
        """Return the material of this name, None where there is none."""
        kinds = "".join(
            f"(?:([0-9]{{1,2}}){kind})?" if kind else "([0-9]{1,2})" for kind in self.kinds
        )
        match = re.fullmatch(f"{kinds}v{kinds}", label)
        if not match:
            return None
        counts = [int(count or 0) for count in match.groups()]
        kinds_count = len(self.kinds)
        pairs = zip(counts[:kinds_count], counts[kinds_count:], strict=True)
        material = tuple(count for pair in pairs for count in pair)
        sides = sum(material[::2]), sum(material[1::2])
        is_one = all(self.fewest <= side <= self.most for side in sides) and sum(sides) <= self.room
        is_greater = material >= swapped(material) and self.label(material) == label
        return material if is_one and is_greater else None

    def materials(self, sides: tuple[int, int], total: int) -> list[Material]:
        """Return the materials with at most so many pieces, in the order they are to be solved in.

        Of a material and the same as the opponent sees it only one is listed, the greater; `sides`
        are the most pieces of the stronger and of the weaker side, `total` of both.
        """
        total = min(total, self.room)
        most = min(self.most, max(sides), total - self.fewest)
        one_side = [
            counts
            for counts in itertools.product(range(most + 1), repeat=len(self.kinds))
            if self.fewest <= sum(counts) <= most
        ]
        solvable = []
        for own, enemy in itertools.product(one_side, repeat=2):
            weaker, stronger = sorted((sum(own), sum(enemy)))
            fits = stronger <= max(sides) and weaker <= min(sides) and weaker + stronger <= total
            material = tuple(n for pair in zip(own, enemy, strict=True) for n in pair)
            if fits and material >= swapped(material):
                solvable.append(material)
        return sorted(solvable, key=lambda material: (self.weight(material), material))

    def weight(self, material: Material) -> int:
        """Return the sum of the weights of the pieces: no turn raises it."""
        weights = [weight for weight in self.weights for _ in (0, 1)]
        return sum(w * count for w, count in zip(weights, material, strict=True))

    def leads_to(self, material: Material) -> list[Material]:
        """Return the other materials that turns may lead to, in the order they are solved in.

        They are all that weigh less and have no more pieces on either side.
        """
        own, enemy = sum(material[::2]), sum(material[1::2])
        below = self.materials((max(own, enemy), min(own, enemy)), own + enemy)
        return [other for other in below if self.weight(other) < self.weight(material)]


def swapped(material: Material) -> Material:
    """Return a material as the opponent sees it."""
    pairs = zip(material[::2], material[1::2], strict=True)
    return tuple(count for own, enemy in pairs for count in (enemy, own))
