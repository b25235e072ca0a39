"""cc_env memory: convert memories of morris to and from the JSON of the original program."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from agents.defaults import MEMORY_PATH
from agents.reproductions import memory_tree
from agents.reproductions.memory_player import Memory
from cc_env.cli.application import create_app, run
from cc_env.cli.arguments import FILE, GameOptions, game_options
from cc_env.errors import BadRecord
from cc_env.files import read_bytes, write_atomically
from cc_env.games.factory import make_game
from cc_env.output import Terminal

app = create_app(
    no_args_is_help=True,
    help="Convert memories of morris to and from the JSON of the original program.",
)
console = Terminal()

MemoryFile = Annotated[Path, typer.Option("--memory", "-m", **FILE, help="The SQLite file.")]
JSONFile = Annotated[
    Path, typer.Argument(**FILE, help="A tree of games as in nine_mens.json.", show_default=False)
]


@app.command("import")
def import_tree(
    file: JSONFile,
    memory: MemoryFile = Path(MEMORY_PATH),
    option: GameOptions = None,
    merge: Annotated[str, typer.Option(help="add to the stored wins, or replace them.")] = "add",
) -> None:
    """Import a tree of games into a memory."""
    game = make_game("morris", **game_options(option, game="morris"))
    try:
        counts, illegal = memory_tree.read(game, read_bytes(file).decode("utf-8-sig"))
    except (BadRecord, UnicodeDecodeError) as error:
        raise BadRecord(f"{file}: {error}") from error
    Memory(memory, game).add(counts, merge)
    console.print(f"{len(counts):,} choices added to {memory}")
    for choice in illegal:
        console.print(f"skipped, illegal: {choice}")


@app.command()
def export(
    file: JSONFile,
    memory: MemoryFile = Path(MEMORY_PATH),
    option: GameOptions = None,
    first: Annotated[
        int, typer.Option(help="Player in the first seat: 1: the person, 2: the machine.")
    ] = 1,
) -> None:
    """Export a memory as a tree of games."""
    game = make_game("morris", **game_options(option, game="morris"))
    counts = Memory(memory, game).counts()
    if not counts:
        raise BadRecord(f"{memory} has no games of {game!r}; nothing was written")
    write_atomically(file, memory_tree.write(game, counts, first=first))
    console.print(f"{len(counts):,} choices written to {file}")


if __name__ == "__main__":
    sys.exit(run(app))
