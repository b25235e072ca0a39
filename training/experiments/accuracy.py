"""cc_env accuracy PLAYER …: the share of a player's decisions that keep the exact value.

results.json   shares by source, value, turns to the end and pieces; the share of solved puzzles
misses.jsonl   each decision that lost value: position, action, value before and after
accuracy.png   the shares as charts

Without tables of the game, only its puzzles are measured.
"""

import io
import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

import matplotlib
import typer
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cc_env.accuracy import decisions
from cc_env.accuracy.decisions import (
    Accuracy,
    GradedDecision,
    enumerate_replies,
    sample_from_games,
    sample_uniform,
)
from cc_env.cli.application import create_app, run
from cc_env.cli.arguments import (
    GameName,
    GameOptions,
    ResultsFolder,
    Size,
    TablesFolder,
    game_options,
)
from cc_env.cli.forfeits import warn_of_forfeits
from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import format_count
from cc_env.files import write_atomically
from cc_env.games.factory import make_game
from cc_env.output import Terminal, make_number_table
from cc_env.players.specs import check_spec, make_player
from cc_env.puzzles import puzzle as puzzle_sets
from cc_env.puzzles.puzzle import shipped_puzzles
from cc_env.puzzles.solve_rate import SolveRate, solve_rate
from cc_env.tablebase.tablebase import SHIPPED, Tablebase
from cc_env.tablebase.values import VALUE_NAMES
from training.runs.chart_style import COLORS, FAINT, STYLE

app = create_app()
console = Terminal()

UNIFORM, REPLIES, HARD = "all positions", "first replies", "hard positions"
# Lower bounds of the bands of turns to the end.
_BANDS = (1, 3, 5, 9, 15, 25)
# Minimum number of decisions for a point in a chart.
_MIN_DECISIONS = 10
# Games start after 0 to 4 random turns.
_MAX_OPENING_TURNS = 4


@app.command()
def measure(
    player: Annotated[
        list[str], typer.Argument(help="Player specs, e.g. policy.", metavar="PLAYER")
    ],
    game_name: GameName = "capture_conquer",
    size: Size = None,
    option: GameOptions = None,
    tables: TablesFolder = None,
    positions: Annotated[
        int,
        typer.Option(min=1, help="Positions sampled from the tables; at most as many replies."),
    ] = 1000,
    games: Annotated[
        int, typer.Option("--games", min=1, help="Games against itself and each opponent.")
    ] = 20,
    opponent: Annotated[
        list[str] | None,
        typer.Option(help="Opponents besides itself.", show_default="random, minimax:depth=2"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of positions, games and players.")] = 0,
    out: ResultsFolder = None,
) -> None:
    """Measure the share of a player's decisions that keep the exact value.

    Positions are sampled from the tablebase, occur in games against itself and other players, or
    follow from the start by the player's actions and all replies.
    """
    game = make_game(game_name, **game_options(option, size, game_name))
    puzzles = shipped_puzzles(game)
    tablebase = _find_tables(game, tables, is_optional=bool(puzzles))
    opponents = opponent or ["random", "minimax:depth=2"]
    for name in (*player, *opponents):
        check_spec(name)
    folder = out or Path("runs") / folder_name(game, player)
    folder.mkdir(parents=True, exist_ok=True)
    measured: dict[str, dict[str, Accuracy]] = {}
    rates: dict[str, SolveRate] = {}
    for name in player:
        measured[name] = {}
        if tablebase is not None:
            accuracies = measure_by_source(tablebase, name, opponents, positions, games, seed)
            measured[name] = dict(accuracies)
            show(name, measured[name])
        if puzzles:
            rates[name] = solve_rate(name, game, puzzles, seed=seed)
            share, low, high = (100 * part for part in rates[name].share)
            count = format_count(len(puzzles), "puzzle")
            console.print(f"{name}: {share:.1f} % ({low:.1f} – {high:.1f}) of {count} solved")
            warn_of_forfeits(name, rates[name].faults, len(puzzles), "puzzle")
        save(folder, game, measured, rates)
    console.print(f"results, misses and charts: {folder}")


def _find_tables(game: Game, folder: Path | None, *, is_optional: bool) -> Tablebase | None:
    """Return the tables of a folder, by default the shipped ones; raise as `Tablebase`.

    Shipped ones that do not exist are None if they are optional.
    """
    is_missing = game.numbering is None or not Tablebase(game, SHIPPED).paths
    if folder is None and is_optional and is_missing:
        return None
    return Tablebase(game, folder or SHIPPED).require_any()


def measure_by_source(
    tables: Tablebase,
    spec: str,
    opponents: Sequence[str],
    num_positions: int,
    num_games: int,
    seed: int,
) -> Iterator[tuple[str, Accuracy]]:
    """Yield each source of positions with the accuracy of a player in it.

    `num_positions` are sampled from the tablebase. At most as many are enumerated from the start,
    breadth-first over all replies to the player's turns. `num_games` are played against itself and
    each opponent.
    """
    game = tables.game
    player = make_player(spec, game)

    def accuracy(sample: list[Position]) -> Accuracy:
        # The tables may have no position of the games.
        return decisions.measure(player, tables, sample, seed=seed) if sample else Accuracy(())

    yield UNIFORM, accuracy(sample_uniform(tables, num_positions, seed=seed))
    named_opponents = [("itself", spec), *((opponent, opponent) for opponent in opponents)]
    for label, opponent in named_opponents:
        other = make_player(opponent, game)
        sample = sample_from_games(
            tables, player, other, num_games, max_opening_turns=_MAX_OPENING_TURNS, seed=seed
        )
        yield f"against {label}", accuracy(sample)
    if game.initial in tables:
        yield REPLIES, accuracy(enumerate_replies(tables, player, num_positions, seed=seed))
    hard = (puzzle.position for puzzle in shipped_puzzles(game, puzzle_sets.HARD))
    if suite := [position for position in hard if position in tables]:
        yield HARD, accuracy(suite)


def show(name: str, measured: dict[str, Accuracy]) -> None:
    """Print the accuracies of one player."""
    columns = "decisions", "kept", "95 %", "won", "drawn", "lost", "where not all do"
    table = make_number_table(name, *columns)
    for source, accuracy in measured.items():
        by_value = accuracy.group_by(attrgetter("value"))
        kept_by_value = [
            _percent(by_value[value].kept.value) if value in by_value else "-"
            for value in VALUE_NAMES
        ]
        share, low, high = accuracy.kept
        # Only these positions are independent samples.
        is_sample = source == UNIFORM and accuracy.decisions
        interval = f"{100 * low:.1f} to {100 * high:.1f}" if is_sample else "-"
        numbers = f"{accuracy.decisions:,}", _percent(share), interval, *kept_by_value
        table.add_row(source, *numbers, _percent(accuracy.kept_with_choice.value))
    console.print_table(table)


def _percent(share: float) -> str:
    """Return a share as a percentage, "-" for NaN."""
    return "-" if math.isnan(share) else f"{100 * share:.1f} %"


def folder_name(game: Game, names: Sequence[str]) -> str:
    """Return a readable name for the folder of the results."""
    options = "-".join(f"{name}={value}" for name, value in game.options.items())
    words = re.sub(r"[^\w=]+", "-", f"accuracy {game.name} {options} {' '.join(names)}")
    return words[:80].strip("-")


def save(
    folder: Path,
    game: Game,
    measured: dict[str, dict[str, Accuracy]],
    rates: Mapping[str, SolveRate],
) -> None:
    """Write results.json, misses.jsonl and accuracy.png; raise OSError if that fails."""
    results: dict[str, dict[str, Any]] = {
        name: {
            source: summary(accuracy, source == UNIFORM) for source, accuracy in by_source.items()
        }
        for name, by_source in measured.items()
    }
    for name, rate in rates.items():
        results[name]["puzzles"] = _rate_json(rate)
    content = {"game": game.name, "options": dict(game.options), "players": results}
    text = json.dumps(content, indent=2, ensure_ascii=False)
    write_atomically(folder / "results.json", f"{text}\n")
    rows = [
        json.dumps(
            {"player": name, "source": source, **miss_to_json(game, decision)}, ensure_ascii=False
        )
        for name, by_source in measured.items()
        for source, accuracy in by_source.items()
        for decision in accuracy.misses
    ]
    write_atomically(folder / "misses.jsonl", "".join(f"{row}\n" for row in rows))
    if any(measured.values()):
        write_atomically(folder / "accuracy.png", to_png(measured))


def _rate_json(rate: SolveRate) -> dict[str, Any]:
    """Return the share of solved puzzles, also by turns, difficulty and theme, as JSON."""
    groups: dict[str, Mapping[Any, SolveRate]] = {
        "by_turns": rate.by_turns,
        "by_difficulty": rate.by_difficulty,
        "by_theme": rate.by_theme,
    }
    parts = {
        name: {str(key): _share_json(part) for key, part in group.items()}
        for name, group in groups.items()
    }
    return _share_json(rate) | parts


def _share_json(rate: SolveRate) -> dict[str, Any]:
    share, low, high = (round(part, 6) for part in rate.share)
    return {"puzzles": len(rate.results), "solved": share, "interval": [low, high]}


def summary(accuracy: Accuracy, is_sample: bool) -> dict[str, Any]:
    """Return numbers of decisions and the shares of them that keep the value, as JSON.

    A share is null without decisions; `interval` is null unless the positions are an independent
    sample.
    """
    by_value = accuracy.group_by(attrgetter("value")).items()
    by_pieces = accuracy.group_by(attrgetter("pieces")).items()
    return {
        **_accuracy_json(accuracy),
        "interval": [round(bound, 6) for bound in accuracy.kept[1:]] if is_sample else None,
        "kept_with_choice": _round_share(accuracy.kept_with_choice.value),
        "by_value": {VALUE_NAMES[int(value)]: _accuracy_json(part) for value, part in by_value},
        "by_turns": {
            str(band): _accuracy_json(part) for band, part in accuracy.group_by(_band).items()
        },
        "by_pieces": {str(pieces): _accuracy_json(part) for pieces, part in by_pieces},
    }


def _accuracy_json(accuracy: Accuracy) -> dict[str, Any]:
    """Return the number of decisions and the share that keeps the value, as JSON."""
    return {"decisions": accuracy.decisions, "kept": _round_share(accuracy.kept.value)}


def _round_share(share: float) -> float | None:
    """Return a share rounded to six decimals, None for NaN."""
    return None if math.isnan(share) else round(share, 6)


def _band(decision: GradedDecision) -> int:
    """Return the lower bound of a decision's band of turns; 0 for a draw."""
    return max((bound for bound in _BANDS if bound <= decision.turns), default=0)


def miss_to_json(game: Game, decision: GradedDecision) -> dict[str, Any]:
    """Return a decision that lost value as JSON."""
    return {
        "position": game.to_text(decision.position),
        "action": game.action_text(decision.position, decision.action),
        "was": VALUE_NAMES[decision.value],
        "is": VALUE_NAMES[decision.value_after],
        "turns": decision.turns,
    }


def to_png(measured: dict[str, dict[str, Accuracy]]) -> bytes:
    """Return a PNG: accuracy by source, and by turns to the end in sampled positions.

    The keys of `measured` are player specs, then sources of positions.
    """
    colors = {"axes.prop_cycle": cycler(color=COLORS)}
    with matplotlib.rc_context(STYLE | colors), io.BytesIO() as file:
        figure = Figure(figsize=(10.4, 3.6), layout="constrained")
        source_axes, turn_axes = figure.subplots(1, 2)
        _draw_sources(source_axes, measured)
        _draw_turns(turn_axes, measured)
        for axes in (source_axes, turn_axes):
            axes.grid(color=FAINT, alpha=0.25)
        figure.savefig(file, format="png", dpi=130, facecolor="white")
        return file.getvalue()


def _draw_sources(axes: Axes, measured: dict[str, dict[str, Accuracy]]) -> None:
    """Draw bars: the accuracy of each player in each source of positions."""
    sources = list(next(iter(measured.values())))
    height = 0.8 / len(measured)
    offset = (len(measured) - 1) / 2
    for index, (name, by_source) in enumerate(measured.items()):
        rows = [row + height * (index - offset) for row in range(len(sources))]
        shares = [100 * part.kept.value if part.decisions else 0 for part in by_source.values()]
        axes.barh(rows, shares, height, label=name)
    axes.set(yticks=range(len(sources)), yticklabels=sources, xlabel="% that keep the value")
    axes.invert_yaxis()


def _draw_turns(axes: Axes, measured: dict[str, dict[str, Accuracy]]) -> None:
    """Draw the accuracy of each player by turns to the end, in bands with enough decisions."""
    for name, by_source in measured.items():
        bands = by_source[UNIFORM].group_by(_band).items()
        enough = {band: part for band, part in bands if part.decisions >= _MIN_DECISIONS}
        shares = [100 * part.kept.value for part in enough.values()]
        axes.plot([*map(int, enough)], shares, marker="o", label=name)
    axes.set(xlabel="turns to the end (lower bound); 0: a draw", ylabel="% that keep the value")
    axes.legend(framealpha=0.7, edgecolor="none", fontsize=8.5)


if __name__ == "__main__":
    sys.exit(run(app))
