"""python -m training.baselines: train the baselines and measure them.

Results that exist are not repeated, and an interrupted run continues, so that the same command may
be repeated, and several may run at once.
"""

import shlex
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
import typer

from cc_env.cli.application import create_app
from cc_env.cli.arguments import FOLDER
from cc_env.errors import (
    BadOption,
    FolderInUse,
    check_integer,
    check_name,
    check_number_of_games,
    is_number,
)
from cc_env.files import file_hash
from cc_env.version import __version__
from training.baselines import algorithms, measurement
from training.baselines.boards import ALGORITHMS, BOARDS, CORE_MINUTES, FIXED, GAMES, SEEDS, Board
from training.baselines.results import (
    FORMAT,
    RESULTS,
    Result,
    read_result,
    result_path,
    write_result,
)
from training.runs.folder import INTERRUPTED, RUNS, locked
from training.runs.progress import console

app = create_app()
_RESULTS_OPTION = " --results "


class Conditions(NamedTuple):
    """The CPU time of runs, the number of games against each player, and the results' folder."""

    core_minutes: float
    games: int
    results: Path


@app.command()
def baselines(
    board: Annotated[
        list[str] | None,
        typer.Option("--board", "-b", help="Boards.", show_default=", ".join(BOARDS)),
    ] = None,
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            "--algorithm",
            "-a",
            help=f"Algorithms; {FIXED}: the players without training.",
            show_default=", ".join([FIXED, *ALGORITHMS]),
        ),
    ] = None,
    seed: Annotated[
        list[int] | None,
        typer.Option(min=0, help="Seeds.", show_default=", ".join(map(str, SEEDS))),
    ] = None,
    core_minutes: Annotated[
        float, typer.Option(help="CPU time of a run, without the measurement.")
    ] = CORE_MINUTES,
    games: Annotated[int, typer.Option(help="Games against each player; even.")] = GAMES,
    results: Annotated[
        Path, typer.Option(**FOLDER, help="Folder of the results.", show_default="that of the page")
    ] = RESULTS,
    show: Annotated[bool, typer.Option("--list", help="List the runs and their states.")] = False,
) -> None:
    """Train and measure baselines; results that exist are skipped.

    A run uses one core. Its network is in runs/baselines/.
    """
    conditions = Conditions(core_minutes, games, results)
    _check_conditions(seed or [], conditions)
    torch.set_num_threads(1)
    for run_board, run_algorithm, run_seed in _runs(board, algorithm, seed):
        path = result_path(results, run_board, run_algorithm, run_seed)
        name = path.relative_to(results)
        if show or path.exists():
            if not show and run_seed is not None:
                _check_command(path, command(run_board, run_algorithm, run_seed, conditions))
            console.print(f"{name}: {'measured' if path.exists() else 'not run yet'}")
            continue
        console.print(f"{name}: started")
        try:
            folder = run_folder(run_board, run_algorithm, run_seed, core_minutes)
            folder.mkdir(parents=True, exist_ok=True)
            with locked(folder):
                # Another process may have finished it in the meantime.
                if path.exists():
                    continue
                if run_seed is None:
                    result = fixed_result(run_board, games)
                else:
                    result = train_and_measure(run_board, run_algorithm, run_seed, conditions)
                write_result(path, result)
        except FolderInUse as error:
            console.print(f"{name}: {error}")
            continue
        except KeyboardInterrupt:
            console.print("stopped; repeat the command to continue")
            raise typer.Exit(INTERRUPTED) from None
        console.print(f"{name}: written")


def _check_conditions(seeds: list[int], conditions: Conditions) -> None:
    """Raise BadOption for a value out of range, and for other conditions than those of the page."""
    core_minutes, games, results = conditions
    for seed in seeds:
        check_integer("seed", seed, 0)
    if not is_number(core_minutes) or core_minutes <= 0:
        raise BadOption(f"core_minutes={core_minutes}; expected: more than 0")
    check_number_of_games(games)
    if results.resolve() == RESULTS and (core_minutes, games) != (CORE_MINUTES, GAMES):
        expected = f"{CORE_MINUTES:g} and {GAMES}, as on the page, or --results FOLDER as well"
        raise BadOption(f"core_minutes={core_minutes:g}, games={games}; expected: {expected}")


def _check_command(path: Path, expected: str) -> None:
    """Raise BadOption if a result comes from another command, whatever its folder."""
    recorded = str(read_result(path).get("command"))
    if recorded.partition(_RESULTS_OPTION)[0] != expected.partition(_RESULTS_OPTION)[0]:
        raise BadOption(f"{path} is the result of '{recorded}'; expected: another --results folder")


def _runs(
    boards: list[str] | None, names: list[str] | None, seeds: list[int] | None
) -> Iterator[tuple[str, str, int | None]]:
    """Yield board, algorithm and seed of each run; raise UnknownOption for an unknown name."""
    valid_names = [FIXED, *ALGORITHMS]
    for board in boards or []:
        check_name("board", board, BOARDS)
    for name in names or []:
        check_name("algorithm", name, valid_names)
    for seed, board, algorithm in product(seeds or SEEDS, boards or BOARDS, names or valid_names):
        if algorithm != FIXED:
            yield board, algorithm, seed
        elif seed == (seeds or SEEDS)[0]:
            yield board, algorithm, None


def fixed_result(board: str, games: int) -> Result:
    """Measure the fixed players in a round robin."""
    players = measurement.measure_fixed_players(BOARDS[board], games)
    return {**_header(board), "machine": measurement.machine(), "players": players}


def run_folder(board: str, algorithm: str, seed: int | None, core_minutes: float) -> Path:
    """Return the folder of a run in runs/baselines.

    Without a seed, it is that of the fixed players, whatever the algorithm and the minutes.
    """
    name = f"{board}-{FIXED}" if seed is None else f"{board}-{algorithm}-{seed}-{core_minutes:g}m"
    return RUNS / "baselines" / name


def train_and_measure(board: str, algorithm: str, seed: int, conditions: Conditions) -> Result:
    """Train in the folder `run` of the run's folder, or continue there; measure the result."""
    path = run_folder(board, algorithm, seed, conditions.core_minutes) / "run"
    rows = algorithms.train(algorithm, BOARDS[board], seed, conditions.core_minutes, path)
    players = [
        measurement.measure_player(spec.format(run=path), BOARDS[board], conditions.games)
        for spec in ALGORITHMS[algorithm].players.values()
    ]
    return {
        **_header(board),
        "algorithm": algorithm,
        "seed": seed,
        "command": command(board, algorithm, seed, conditions),
        "environment_steps": algorithms.environment_steps(algorithm, rows),
        "core_minutes": round(rows[-1]["core_minutes"], 3),
        "minutes": round(rows[-1]["minutes"], 3),
        "machine": measurement.machine(),
        "weights": file_hash(algorithms.weights_file(algorithm, path)),
        "curve": algorithms.learning_curve(rows),
        "players": players,
    }


def _header(board: str) -> dict[str, Any]:
    chosen: Board = BOARDS[board]
    game = {"game": chosen.game, "options": dict(chosen.make_game().options)}
    return {"format": FORMAT, "board": board, **game, "version": __version__}


def command(board: str, algorithm: str, seed: int, conditions: Conditions) -> str:
    """Return the shell command of a run."""
    words = ["python", "-m", "training.baselines", "-b", board, "-a", algorithm]
    words += ["--seed", str(seed)]
    if conditions.core_minutes != CORE_MINUTES:
        words += ["--core-minutes", f"{conditions.core_minutes:g}"]
    if conditions.games != GAMES:
        words += ["--games", str(conditions.games)]
    text = shlex.join(words)
    if conditions.results.resolve() != RESULTS:
        text += _RESULTS_OPTION + shlex.quote(str(conditions.results))
    return text
