"""python -m training.evaluate PLAYER PLAYER …: play a tournament and report the results."""

import hashlib
import json
import re
import shlex
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from cc_env.cli.application import create_app, run
from cc_env.cli.arguments import GameName, GameOptions, ResultsFolder, Size, game_options
from cc_env.errors import BadRecord, format_list
from cc_env.match.match import Limits
from training import arena
from training.arena.tables import show
from training.runs.command_line import Workers
from training.runs.folder import INTERRUPTED, RUNS
from training.runs.progress import console, games_progress

app = create_app()


@app.command()
def evaluate(
    context: typer.Context,
    players: Annotated[
        list[str],
        typer.Argument(help="Player specs, e.g. random minimax:depth=3.", metavar="PLAYER"),
    ],
    game: GameName = "capture_conquer",
    size: Size = None,
    option: GameOptions = None,
    games: Annotated[int, typer.Option(help="Games per pair; even.")] = 100,
    opening_turns: Annotated[
        int | None,
        typer.Option(
            help="Random turns before the players take over.", show_default="4; 0 with --learn"
        ),
    ] = None,
    max_turns: Annotated[
        int, typer.Option(min=0, help="Longer games are drawn; 0: no limit.")
    ] = 200,
    repetitions: Annotated[
        int, typer.Option(min=0, help="Draw at the Nth occurrence of a position; 0: never.")
    ] = 3,
    seconds_per_turn: Annotated[float | None, typer.Option(help="Exceeding it loses.")] = None,
    seconds_per_game: Annotated[float | None, typer.Option(help="Exceeding it loses.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of openings and players.")] = 0,
    learn: Annotated[
        bool, typer.Option("--learn", help="Players such as memory learn from each game.")
    ] = False,
    anchor: Annotated[
        str | None, typer.Option(help="Player whose Elo is 0.", show_default="the mean of all")
    ] = None,
    workers: Workers = None,
    engine: Annotated[
        str, typer.Option(help="Where games run: processes, or ray for a cluster.")
    ] = "processes",
    out: ResultsFolder = None,
) -> None:
    """Rate players: every pair plays the same openings in both seats.

    The same command continues a tournament that was interrupted. The exit status is 1 if a game
    could not be played, or if a player forfeited every game by errors, illegal actions or its time.
    """
    config = arena.Config(
        players=tuple(players),
        game=game,
        options=game_options(option, size, game),
        games=games,
        opening_turns=(0 if learn else 4) if opening_turns is None else opening_turns,
        limits=Limits(max_turns or None, repetitions or None, seconds_per_turn, seconds_per_game),
        seed=seed,
        learn=learn,
        anchor=anchor,
    )
    path = out or RUNS / folder_name(config)
    command = shlex.join(["cc_env", "arena", *context.obj])
    tournament = run_and_report(config, path, command, workers=workers, engine=engine)
    if tournament.unplayed or tournament.has_player_without_finished_game:
        raise typer.Exit(1)


def run_and_report(
    config: arena.Config, path: Path, command: str, curves: Path | None = None, **options: Any
) -> arena.Tournament:
    """Play a tournament with a progress bar, print its tables and write its report.

    `command` is the shell command that repeats it, `curves` a PNG of learning curves for the
    report, `options` are those of `arena.run_tournament`. Raises BadRecord if every game failed,
    and as `arena.run_tournament`.
    """
    tournament = _run_with_progress(config, path, **options)
    if not tournament.records:
        reasons = format_list(dict.fromkeys(tournament.unplayed.values()))
        raise BadRecord(f"no game could be played: {reasons}")
    show(tournament, console)
    # Imported late: worker processes need no charts.
    from training.arena import report

    file = report.write(tournament, path, command, curves)
    console.print(f"report: {file}")
    return tournament


def folder_name(config: arena.Config) -> str:
    """Return a readable folder name with a hash of the config."""
    names = config.players if len(config.players) < 4 else [f"{len(config.players)} players"]
    words = re.sub(r"[^\w=]+", "-", " vs ".join(names))[:60].strip("-")
    digest = hashlib.sha256(json.dumps(config.to_json(), sort_keys=True).encode()).hexdigest()
    return f"{words}-{digest[:6]}"


def _run_with_progress(config: arena.Config, path: Path, **options: Any) -> arena.Tournament:
    """Play with a progress bar; after Ctrl-C, print how to continue and exit."""
    finished = 0
    try:
        with games_progress() as show_progress:

            def advance(count: int, total: int) -> None:
                nonlocal finished
                finished = count
                show_progress(count, total)

            # The tables contain the warnings.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", arena.ForfeitWarning)
                return arena.run_tournament(config, path, **options, on_progress=advance)
    except KeyboardInterrupt:
        console.print(f"stopped; {finished} games are finished, in {path}")
        console.print("repeat the command to continue the tournament")
        raise typer.Exit(INTERRUPTED) from None
    except OSError as error:
        status = f"{finished} games are finished, in {path}"
        raise OSError(
            f"{error}; {status}; repeat the command to continue the tournament"
        ) from error


if __name__ == "__main__":
    sys.exit(run(app))
