"""Facts from the packaged tables and books of exact values, read from them."""

from cc_env.tablebase.tablebase import Tablebase
from cc_env.tablebase.values import VALUE_NAMES
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


@maker
def first_turns(block: Block) -> str:
    """Return the turns from the start, with the values after them to their player.

    A row has the turns of one value; the best turns come first.
    """
    game = block.game()
    tables = Tablebase(game)
    rows: dict[tuple[int, int], list[str]] = {}
    for turn, after in game.finished_turns(game.initial):
        solved = tables.probe(after)
        turns = solved.turns + 1 if solved.value else 0
        rows.setdefault((-solved.value, turns), []).append(
            game.readable_turn_text(game.initial, turn)
        )
    order = sorted(rows, key=lambda row: (-row[0], row[0] * row[1]))
    return table(
        ["value", "#in turns", "first turns"],
        (
            (VALUE_NAMES[value], turns or "–", ", ".join(rows[value, turns]))
            for value, turns in order
        ),
    )
