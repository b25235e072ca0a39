"""cc_env hard-positions: find hard positions of a solved game, as a set of puzzles for programs.

Positions are sampled from the tablebase. A position is hard if the player to move wins, a single
one of several actions keeps the win, and alpha-beta with `standard` misses this action; the deeper
the search that misses it, the harder the position.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import track

from cc_env.accuracy.decisions import keeps_value, sample_uniform
from cc_env.cli.application import create_app, run
from cc_env.cli.arguments import FILE, GameName, GameOptions, Size, TablesFolder, game_options
from cc_env.core.game import Game, Turn
from cc_env.core.rules import ONGOING, Position
from cc_env.files import open_atomically
from cc_env.games.factory import make_game
from cc_env.output import Terminal
from cc_env.puzzles.puzzle import HARD, WIN, Puzzle, puzzle_path, write_lines
from cc_env.search.alphabeta import AlphaBeta
from cc_env.tablebase.tablebase import SHIPPED, ExactValue, Tablebase

# Minimum number of legal actions of a hard position.
MIN_ACTIONS = 5

app = create_app()
console = Terminal()


@app.command()
def search(
    game_name: GameName = "capture_conquer",
    size: Size = None,
    option: GameOptions = None,
    tables: TablesFolder = None,
    positions: Annotated[int, typer.Option(min=1, help="Positions to sample.")] = 200_000,
    number: Annotated[int, typer.Option(min=1, help="Positions to keep.")] = 100,
    depth: Annotated[int, typer.Option(min=1, max=30, help="Maximum search depth, in turns.")] = 14,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the positions.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            **FILE, help="File to write the positions to.", show_default="the game's name"
        ),
    ] = None,
) -> None:
    """Find hard positions of a solved game."""
    game = make_game(game_name, **game_options(option, size, game_name))
    tablebase = Tablebase(game, tables or SHIPPED).require_any()
    path = out or puzzle_path(Path(), game, HARD)
    # Opening the file first detects a bad path before the search.
    with open_atomically(path) as file:
        sampled = track(
            sample_uniform(tablebase, positions, seed=seed),
            "searching",
            total=positions,
            console=console,
            transient=True,
            disable=not console.shows_progress,
        )
        missed = sorted(
            find_hard(tablebase, sampled, depth),
            key=lambda entry: (-entry.missed_depth, -entry.turns),
        )
        selected = missed[:number]
        file.write(write_lines(selected, game).encode())
    console.print(f"{path}: {len(selected)} of {len(missed)} positions whose win alpha-beta misses")


def find_hard(tables: Tablebase, positions: Iterable[Position], depth: int) -> Iterator[Puzzle]:
    """Yield positions, each once, in which alpha-beta misses the win at a depth up to `depth`."""
    game = tables.game
    searched_keys = set()
    for position in positions:
        key = game.key(position)
        solved = tables.probe(position)
        if key not in searched_keys and _has_single_win(tables, position, solved):
            searched_keys.add(key)
            (action,) = solved.value_keeping
            missed = (
                d for d in range(depth, 0, -1) if searched_action(game, position, d) != action
            )
            if deepest := next(missed, 0):
                solutions = tuple(_winning_turns(tables, position, action))
                own_turns = (solved.turns + 1) // 2
                yield Puzzle(position, WIN, own_turns, solutions, missed_depth=deepest)


def _winning_turns(tables: Tablebase, position: Position, action: int) -> Iterator[Turn]:
    """Yield the turns that begin with an action and keep the win."""
    game, mover = tables.game, tables.game.to_move(position)
    for turn in game.turns(position):
        if turn[0] == action:
            after = game.play_turn(position, turn)
            outcome = game.outcome(after)
            is_won = tables.probe(after).value < 0 if outcome == ONGOING else outcome == mover
            if is_won:
                yield turn


def searched_action(game: Game, position: Position, depth: int) -> int:
    """Return the action of alpha-beta at this depth, with an empty transposition table."""
    return AlphaBeta(game, table_megabytes=1).search(position, depth=depth).action


def _has_single_win(tables: Tablebase, position: Position, solved: ExactValue) -> bool:
    """Return whether one action wins, of at least MIN_ACTIONS, and all values are known."""
    if solved.value <= 0 or len(solved.value_keeping) != 1 or len(solved.actions) < MIN_ACTIONS:
        return False
    return None not in (keeps_value(tables, position, a, solved) for a in solved.actions)


if __name__ == "__main__":
    sys.exit(run(app))
