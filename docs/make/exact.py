"""Counts of the packaged tables of exact values, read from the tables."""

from cc_env.tablebase.tablebase import Tablebase
from docs.make.blocks import Block, maker, table


@maker
def exact(block: Block) -> str:
    """Return the counts of a game's packaged tables, by the pieces of mover and opponent."""
    tables = Tablebase(block.game())
    rows = []
    for material in tables.paths:
        for view in tables.table(material).header.views:
            side = f"{view.material[0]} v {view.material[1]}"
            counts = (view.won + view.drawn + view.lost, view.won, view.drawn, view.lost)
            longest = f"{view.turns}: `{view.longest}`" if view.turns else "–"
            rows.append((side, *(f"{count:,}" for count in counts), longest))
    heads = [
        "mover v opponent",
        "#positions",
        "#won",
        "#drawn",
        "#lost",
        "longest win or loss (turns: position)",
    ]
    return table(heads, rows)
