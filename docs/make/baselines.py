"""Tables and learning curves of the baselines, read from their results."""

import io
from collections.abc import Sequence
from statistics import mean, stdev

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from docs.make.blocks import Block, maker, table
from training.baselines.boards import (
    ALGORITHMS,
    ANCHOR,
    BOARDS,
    FIXED_PLAYERS,
    SEEDS,
)
from training.baselines.results import (
    RESULTS,
    RatedPlayer,
    fixed_ratings,
    read_runs,
    run_ratings,
)
from training.runs.chart_style import COLORS, FAINT, STYLE

NOT_RUN = "not run yet"


@maker
def baselines(block: Block) -> str:
    """Return the table of all players of a board, the best first."""
    (board,) = block.words
    fixed = fixed_ratings(RESULTS, board)
    rows = [_row(f"`{player.spec}`", [player]) for player in fixed]
    missing = []
    for name, algorithm in ALGORITHMS.items():
        by_index: dict[int, list[RatedPlayer]] = {}
        for index, player in run_ratings(RESULTS, board, name):
            by_index.setdefault(index, []).append(player)
        for index, title in enumerate(algorithm.players):
            if index in by_index:
                rows.append(_row(title, by_index[index]))
            else:
                missing.append([title, "", "", NOT_RUN])
    rows.sort(key=lambda row: -row[0])
    opponents = [f"#{spec}" for spec in FIXED_PLAYERS]
    exact = ["#accuracy"] if _has_accuracy(board) else []
    head = ["player", "#seeds", "#Elo", *opponents, "#ms per turn", "#puzzles", *exact]
    cells = [cells[: len(head)] for _, cells in rows]
    cells += [[*row, *[""] * (len(head) - len(row))] for row in missing]
    return table(head, cells)


def _has_accuracy(board: str) -> bool:
    return any(player.measured["accuracy"] for player in fixed_ratings(RESULTS, board))


def _row(title: str, players: Sequence[RatedPlayer]) -> tuple[float, list[str]]:
    """Return the mean Elo of a player over its runs, and its cells."""
    elos = [player.elo.value for player in players]
    scores = [_mean([player.score(opponent) for player in players]) for opponent in FIXED_PLAYERS]
    accuracies = [player.measured["accuracy"] for player in players]
    kept = _mean([each and each["kept_with_choice"] for each in accuracies])
    seeds = "" if players[0].run is None else f"{len(players)}"
    # Results of early runs have no puzzles.
    puzzles = [player.measured.get("puzzles") for player in players]
    solved = _mean([each and each["solved"] for each in puzzles])
    # Other programs only add to the time. All networks of an algorithm have the same size.
    milliseconds = min(player.measured["milliseconds_per_turn"] for player in players)
    return mean(elos), [title, seeds, _elo(players), *scores, f"{milliseconds:.2g}", solved, kept]


def _mean(values: Sequence[float | None]) -> str:
    """Return the mean in per cent, a dash without values."""
    numbers = [value for value in values if value is not None]
    return f"{100 * mean(numbers):.1f} %" if numbers else "–"


def _elo(players: Sequence[RatedPlayer]) -> str:
    """Return the mean Elo with the standard deviation over seeds, or with its interval."""
    elos = [player.elo.value for player in players]
    if len(elos) > 1:
        return f"{round(mean(elos)):+d} ± {stdev(elos):.0f}"
    value, low, high = map(round, players[0].elo)
    return f"{value:+d}" if low == high else f"{value:+d} ({low:+d} to {high:+d})"


@maker
def baseline_runs(block: Block) -> str:
    """Return the table of all runs: what each cost, and the command that repeats it."""
    head = ["board", "algorithm", "#seed", "#decisions", "#core-minutes", "processor", "command"]
    rows = [
        [
            BOARDS[run["board"]].title,
            ALGORITHMS[run["algorithm"]].title,
            run["seed"],
            f"{run['environment_steps']:,}",
            f"{run['core_minutes']:.1f}",
            run["machine"]["processor"],
            f"`{run['command']}`",
        ]
        for board in BOARDS
        for algorithm in ALGORITHMS
        for run in read_runs(RESULTS, board, algorithm)
    ]
    expected = len(BOARDS) * len(ALGORITHMS) * len(SEEDS)
    return f"{len(rows)} of {expected} runs have been made.\n\n{table(head, rows)}"


@maker
def baseline_curves(block: Block) -> str:
    """Return the learning curves of all boards as a picture."""
    boards = [
        board
        for board in BOARDS
        if any(any(read_runs(RESULTS, board, algorithm)) for algorithm in ALGORITHMS)
    ]
    if not boards:
        return f"Learning curves: {NOT_RUN}."
    alt = f"Score against {ANCHOR} by core-minutes of training, for each board and algorithm"
    return block.page.picture(_curves(boards), alt)


def _curves(boards: Sequence[str]) -> str:
    """Return an SVG with a chart for each board: a line for each run, by algorithm."""
    # The same results give the same file.
    deterministic = {"svg.hashsalt": "baselines", "svg.fonttype": "none"}
    columns = min(2, len(boards))
    rows = -(-len(boards) // columns)
    with matplotlib.rc_context(STYLE | deterministic), io.StringIO() as file:
        figure = Figure(figsize=(5.2 * columns, 0.5 + 2.9 * rows), layout="constrained")
        lines = {}
        for number, board in enumerate(boards, 1):
            axes = figure.add_subplot(rows, columns, number)
            for index, (name, algorithm) in enumerate(ALGORITHMS.items()):
                for run in read_runs(RESULTS, board, name):
                    if run["curve"]:
                        minutes, scores = np.array(run["curve"]).T
                        (line,) = axes.plot(
                            minutes, 100 * scores, color=COLORS[index], linewidth=1.2
                        )
                        lines[algorithm.title] = line
            axes.set(title=BOARDS[board].title, ylim=(0, 100))
            axes.set(xlabel="core-minutes", ylabel=f"% against {ANCHOR}")
            axes.grid(color=FAINT, alpha=0.25)
        figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=5)
        metadata = {"Date": None, "Creator": None}
        figure.savefig(file, format="svg", facecolor="white", metadata=metadata)
        return file.getvalue()
