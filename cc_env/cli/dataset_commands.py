"""The command `dataset` of `python -m cc_env`."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from rich.progress import track
from typer import Argument, Context, Option

from cc_env.cli.arguments import (
    FILE,
    GameOptions,
    Size,
    TablesFolder,
    check_new_file,
    file_path,
    game_options,
)
from cc_env.core.game import Game
from cc_env.datasets.dataset import Dataset, make_dataset
from cc_env.datasets.generation import NamedMatch, play_matches, read_matches
from cc_env.datasets.minari_format import check_dataset_id, write_minari
from cc_env.errors import BadOption, format_count
from cc_env.games.factory import make_game
from cc_env.match.match import Limits
from cc_env.output import Terminal
from cc_env.tablebase.tablebase import Tablebase

DEFAULT_GAME = "capture_conquer"
DEFAULT_LIMITS = Limits()
# Options for playing games, which are invalid with --records.
PLAYING_OPTIONS = "games", "opening_turns", "max_turns", "repetitions", "seed"
console = Terminal()


def dataset(
    context: Context,
    file: Annotated[
        Path | None, Argument(**FILE, help="The npz file to create.", show_default=False)
    ] = None,
    player: Annotated[
        list[str] | None,
        Option(
            "--player", "-p", metavar="SPEC", help="A player; name two to play against each other."
        ),
    ] = None,
    records: Annotated[
        list[Path] | None,
        Option(
            "--records",
            "-r",
            parser=file_path,
            metavar="FILE",
            help="Records to read instead, one JSON object per line.",
        ),
    ] = None,
    game: Annotated[
        str | None,
        Option(
            "--game",
            "-g",
            help="The game; `games` lists them.",
            show_default="that of the records, or capture_conquer",
        ),
    ] = None,
    size: Size = None,
    option: GameOptions = None,
    games: Annotated[int, Option(min=1, help="Number of games to play.")] = 1000,
    opening_turns: Annotated[
        int, Option(min=0, help="Random turns before each game, which are not part of it.")
    ] = 4,
    max_turns: Annotated[
        int | None, Option(min=1, help="Turns after which a game is a draw.")
    ] = DEFAULT_LIMITS.max_turns,
    repetitions: Annotated[
        int,
        Option(min=0, help="A game is a draw at the Nth occurrence of a position; 0: never."),
    ] = DEFAULT_LIMITS.repetitions or 0,
    seed: Annotated[int, Option(min=0, help="The same seed gives the same games.")] = 0,
    tables: TablesFolder = None,
    minari: Annotated[
        str | None,
        Option(metavar="ID", help="Also create this Minari data set, such as checkers/greedy-v0."),
    ] = None,
) -> None:
    """Write games as a data set: npz with NumPy arrays, or Minari.

    The games are played by one player against itself or by two players, or are read from records.
    Nothing is written unless all games are valid.
    """
    if file is None and minari is None:
        raise BadOption("nothing to write; expected: an npz file or --minari ID")
    if bool(player) == bool(records):
        raise BadOption("expected: --player SPEC (once or twice) or --records FILE")
    if records:
        _check_unused(context)
    if file is not None:
        _check_suffix(file)
        check_new_file(file)
    if minari is not None:
        check_dataset_id(minari)
    options = game_options(option, size, game or DEFAULT_GAME)
    if records:
        named_game = make_game(game or DEFAULT_GAME, **options) if game or options else None
        matches = read_matches(records, named_game)
        about: dict[str, Any] = {"records": [path.name for path in records]}
        data = _collect(matches[0][0].game, matches, len(matches), tables, about)
    else:
        played_game = make_game(game or DEFAULT_GAME, **options)
        limits = Limits(max_turns=max_turns, repetitions=repetitions or None)
        settings = {"games": games, "opening_turns": opening_turns, "seed": seed}
        played = play_matches(played_game, player or [], limits=limits, **settings)
        about = {
            "players": player,
            "max_turns": max_turns,
            "repetitions": limits.repetitions,
            **settings,
        }
        data = _collect(played_game, played, games, tables, about)
    _write(data, file, minari)


def _check_unused(context: Context) -> None:
    """Raise BadOption if an option for playing games is given with --records."""
    for name in PLAYING_OPTIONS:
        source = context.get_parameter_source(name)
        if source and source.name == "COMMANDLINE":
            text = f"--{name.replace('_', '-')} {context.params[name]} with --records"
            raise BadOption(f"{text}; expected: only with --player, to play games")


def _check_suffix(file: Path) -> None:
    """Raise BadOption unless the file is named as an npz file."""
    if file.suffix != ".npz":
        raise BadOption(f"{file}; expected: a file name that ends in .npz")


def _collect(
    game: Game,
    matches: Iterable[NamedMatch],
    count: int,
    tables: Path | None,
    about: Mapping[str, Any],
) -> Dataset:
    """Return the data set of the matches, with exact values if there are any.

    Shows progress out of `count`. Raises BadOption if `tables` is not a folder or the game has no
    exact values, MissingTable if the folder has no tables of the game.
    """
    exact = None
    if tables is not None:
        exact = Tablebase(game, tables).require_any()
    elif game.numbering is not None:
        exact = Tablebase(game)
    hides_progress = not console.shows_progress
    tracked_matches = track(matches, "games", total=count, console=console, disable=hides_progress)
    return make_dataset(game, tracked_matches, None if exact and exact.is_empty else exact, about)


def _write(data: Dataset, file: Path | None, minari: str | None) -> None:
    """Write a data set and print what was written."""
    games, decisions = format_count(len(data.outcomes), "game"), format_count(len(data), "decision")
    solved = np.count_nonzero(~np.isnan(data.values))
    summary = f"{games}, {decisions} of {data.game!r}, {solved:,} with exact values"
    if file is not None:
        data.save(file)
        console.print(f"{file}: {summary}")
    if minari is not None:
        folder = write_minari(data, minari)
        console.print(f"{minari}: {summary}; in {folder}")
