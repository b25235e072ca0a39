"""cc_env published: repeat the published experiments, and measure the value of moving first.

Published  random and "smart" against each other from the initial position, beside the published
           results, which the rule sheet cites
Open       does moving first help? Each strong player plays itself from random openings

notebooks/published_experiments.ipynb uses the same functions.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import mean
from typing import Annotated, NamedTuple

import numpy as np
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from cc_env.cli import application
from cc_env.cli.application import create_app
from cc_env.core.game import Game
from cc_env.errors import BadOption
from cc_env.games.factory import make_game
from cc_env.jit.threads import available_cores
from cc_env.match import record
from cc_env.match.match import FAULTS
from cc_env.match.openings import random_openings
from cc_env.output import Terminal, make_number_table
from cc_env.rendering.picture import frames
from training import arena
from training.arena.schedule import Pairing, game_seed
from training.arena.standings import POINTS, Line, tally
from training.arena.wording import interval, percent
from training.parallel import processes
from training.runs.config import check_wholes

RANDOM = "random"
SMART = "minimax:depth=3,evaluation=published"
MCTS = "mcts:simulations=400"
STRONG = {  # by size of the board; on 8×8 depth 6 would take three seconds per game
    6: (*(f"minimax:depth={depth}" for depth in range(1, 7)), MCTS),
    8: (*(f"minimax:depth={depth}" for depth in range(1, 6)), MCTS),
}
OPENING_TURNS = 4  # random turns; even, so that the first player is to move
GAMES, SEAT_GAMES = 1000, 200
MEASURED = "1st : 2nd : drawn", "score of the first", "turns", "s a game"  # columns
TURNS_PER_LINE = 4
FIFTH = 5  # smart plays a fifth of the games of random in each seat

app = create_app()
console = Terminal()


class Figures(NamedTuple):
    """The published result of an experiment."""

    first: int
    second: int
    draws: int
    seconds: float | None = None  # per game
    turns: int | None = None  # per game

    @property
    def line(self) -> Line:
        """The results of the first player; all games count as independent."""
        points = np.repeat((1.0, 0.0, 0.5), (self.first, self.second, self.draws))
        return tally(points, np.arange(len(points)))


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Games of two players in the same seats. The same experiment gives the same games.

    Raises BadOption if there is no such player or size, or a number is out of range.
    """

    first: str  # name of a player, see `cc_env.players.specs`
    second: str  # name of a player
    games: int
    size: int = 6
    opening_turns: int = 0  # random turns before the players take over; even
    seed: int = 0
    is_deterministic: bool = False  # deterministic: all games are the same
    published: Figures | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        arena.try_players((self.first, self.second), self.make_game())
        check_wholes(self, games=1, opening_turns=0, seed=0)
        if self.opening_turns % 2:
            raise BadOption(
                f"opening_turns={self.opening_turns}; even, so that the first player is to move"
            )

    def make_game(self) -> Game:
        """Return the game."""
        return make_game("capture_conquer", size=self.size)

    def plan(self) -> list[Pairing]:
        """Return the games to play."""
        game = self.make_game()
        if self.opening_turns:
            starts = random_openings(game, self.opening_turns, self.games, self.seed)
        else:
            starts = [game.to_text(game.initial)] * self.games
        seats = self.first, self.second
        return [
            Pairing(index, index, seats, start, game_seed(self.seed, index))
            for index, start in enumerate(starts)
        ]


@dataclass(frozen=True, eq=False)
class PlayedExperiment:
    """An experiment with its results."""

    experiment: Experiment
    records: tuple[record.Record, ...]
    seconds: float  # per game, including the creation of the players

    @property
    def points(self) -> list[float]:
        """The points of the first player in each game: 0, 1/2 or 1."""
        return [POINTS[record.result] for record in self.records]

    @property
    def openings(self) -> list[int]:
        """The number of each game's opening.

        Games from the initial position are independent, so each counts as an opening of its own.
        """
        if not self.experiment.opening_turns:
            return list(range(len(self.records)))
        number: dict[str | None, int] = {}
        return [number.setdefault(record.start, len(number)) for record in self.records]

    @property
    def line(self) -> Line:
        """The results of the first player."""
        return tally(np.array(self.points), np.array(self.openings))

    @property
    def turns(self) -> float:
        """The mean number of turns per game, without the opening."""
        return mean(len(record.turns) for record in self.records)

    @property
    def drawn_by(self) -> dict[str, int]:
        """The number of draws by reason, most frequent first."""
        reasons = (record.reason for record in self.records if POINTS[record.result] == 0.5)
        return dict(Counter(sorted(reasons)).most_common())


def experiments(games: int = GAMES, seed: int = 0) -> list[Experiment]:
    """Return the published experiments.

    Random plays random in `games` games, smart plays random in a fifth of them in each seat (50
    were published), smart plays smart once, since all their games are the same.
    """
    fewer = max(1, games // FIFTH)
    return [
        Experiment(
            first=RANDOM,
            second=RANDOM,
            games=games,
            seed=seed,
            published=Figures(510, 490, 0, seconds=0.1),
        ),
        Experiment(
            first=SMART,
            second=RANDOM,
            games=fewer,
            seed=seed,
            published=Figures(33, 17, 0, seconds=155),
        ),
        Experiment(
            first=RANDOM,
            second=SMART,
            games=fewer,
            seed=seed,
            published=Figures(19, 30, 1, seconds=178),
        ),
        Experiment(
            first=SMART,
            second=SMART,
            games=1,
            is_deterministic=True,
            published=Figures(0, 50, 0, turns=20),
        ),
    ]


def seat_advantage(
    size: int, games: int = SEAT_GAMES, seed: int = 0, names: Iterable[str] = ()
) -> list[Experiment]:
    """Return a match of each player against itself, all from the same distinct openings.

    Without names the players are STRONG of this size. Raises BadOption as Experiment.
    """
    chosen = tuple(names) or STRONG.get(size, STRONG[8])
    return [
        Experiment(
            first=name,
            second=name,
            games=games,
            size=size,
            opening_turns=OPENING_TURNS,
            seed=seed,
        )
        for name in chosen
    ]


def play_experiments(
    wanted: Sequence[Experiment],
    *,
    workers: int = 0,
    on_progress: arena.Progress = lambda finished, total: None,
) -> list[PlayedExperiment]:
    """Play experiments in worker processes; 0: in this process.

    Raises ChildProcessError if a game could not be played or a player failed in it.
    """
    tasks = [
        _Task(which, experiment, pairing)
        for which, experiment in enumerate(wanted)
        for pairing in experiment.plan()
    ]
    games: dict[int, dict[int, _Played]] = {which: {} for which in range(len(wanted))}
    for done, (task, played) in enumerate(processes.map_unordered(_timed, tasks, workers), 1):
        if isinstance(played, processes.Failure):
            raise ChildProcessError(f"{task} could not be played: {played}")
        if played.record.reason in FAULTS:
            raise ChildProcessError(f"{task}: {played.record.reason}, {played.record.detail}")
        games[task.which][task.pairing.index] = played
        on_progress(done, len(tasks))
    return [_row(experiment, games[which]) for which, experiment in enumerate(wanted)]


def _row(experiment: Experiment, games: dict[int, "_Played"]) -> PlayedExperiment:
    played = [games[index] for index in sorted(games)]
    seconds = mean(game.seconds for game in played)
    return PlayedExperiment(experiment, tuple(game.record for game in played), seconds)


class _Task(NamedTuple):
    which: int  # index of the experiment
    experiment: Experiment
    pairing: Pairing

    def __str__(self) -> str:
        return f"game {self.pairing.index} of {' – '.join(self.pairing.players)}"


class _Played(NamedTuple):
    record: record.Record
    seconds: float


def _timed(task: _Task) -> _Played:
    """Play and time a game, after a first game in each process that compiles everything."""
    _warm_up(task.experiment)
    began = time.perf_counter()
    played = arena.play_pairing(task.experiment.make_game(), task.pairing)
    return _Played(played, time.perf_counter() - began)


@cache
def _warm_up(experiment: Experiment) -> None:
    arena.play_pairing(experiment.make_game(), replace(experiment, games=1).plan()[0])


def together(rows: Sequence[PlayedExperiment]) -> Line:
    """Return the results of the first seat in all these matches, which have the same openings.

    Games from one opening may be correlated, so intervals are clustered by opening.
    """
    points = np.concatenate([row.points for row in rows])
    return tally(points, np.concatenate([row.openings for row in rows]))


def numbered(game: record.Record) -> list[str]:
    """Return the turns of a game in numbered notation."""
    return [f"{number}. {text}" for number, text in enumerate(game.turns, 1)]


def published_table(rows: Iterable[PlayedExperiment]) -> Table:
    """Return a table of the experiments, each with the published result below it."""
    table = make_number_table("first – second", "games", *MEASURED)
    for row in rows:
        experiment = row.experiment
        names = " – ".join(map(_short_name, (experiment.first, experiment.second)))
        result = _result(row.line, experiment.is_deterministic)
        table.add_row(Text(names), str(row.line.games), *result, *_length(row))
        if given := experiment.published:
            result = _result(given.line, experiment.is_deterministic)
            turns = f"{given.turns}" if given.turns else ""
            seconds = f"{given.seconds:g}" if given.seconds else ""
            table.add_row(
                "  published", str(given.line.games), *result, turns, seconds, style="dim"
            )
    return table


def seats_table(rows: Sequence[PlayedExperiment]) -> Table:
    """Return a table of the results of the first seat, per player and in all per size of board."""
    table = make_number_table("player, in both seats", *MEASURED, "drawn by")
    for size in dict.fromkeys(row.experiment.size for row in rows):
        ours = [row for row in rows if row.experiment.size == size]
        for row in ours:
            name = Text(f"{size}×{size} {row.experiment.first}")
            drawn_by = "\n".join(f"{count} {reason}" for reason, count in row.drawn_by.items())
            table.add_row(name, *_result(row.line), *_length(row), drawn_by)
        if len(ours) > 1:
            table.add_row(f"{size}×{size} together", *_result(together(ours)), style="bold")
    return table


def _result(line: Line, is_deterministic: bool = False) -> tuple[str, str]:
    """Return the counts of results, and the score with its interval, unless it is deterministic."""
    known = "always" if is_deterministic else interval(line.score)
    return f"{line.wins} : {line.losses} : {line.draws}", f"{percent(line.score.value)} ({known})"


def _length(row: PlayedExperiment) -> tuple[str, str]:
    return f"{row.turns:.1f}", f"{row.seconds:.2g}"


def _short_name(name: str) -> str:
    return "smart" if name == SMART else name


@app.command()
def run(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Players that play themselves; default: minimax and mcts.",
            metavar="PLAYER",
            show_default=False,
        ),
    ] = None,
    games: Annotated[
        int, typer.Option(help="Games of random against random; smart plays a fifth in each seat.")
    ] = GAMES,
    seat_games: Annotated[
        int, typer.Option(help="Games of each player against itself.")
    ] = SEAT_GAMES,
    seed: Annotated[int, typer.Option(help="Seed of openings and players.")] = 0,
    workers: Annotated[
        int | None, typer.Option(min=0, help="Processes.", show_default="one per core")
    ] = None,
) -> None:
    """Play the published experiments, and measure the value of moving first."""
    first = experiments(games, seed)
    second = [
        match for size in STRONG for match in seat_advantage(size, seat_games, seed, names or ())
    ]
    rows = _play_with_progress(first + second, available_cores() if workers is None else workers)
    console.print(f"The published experiments. smart: {SMART}\n")
    console.print_table(published_table(rows[: len(first)]))
    _show_game(rows[len(first) - 1].records[0])
    console.print(f"\nMoving first, in {seat_games} games after {OPENING_TURNS} random turns\n")
    console.print_table(seats_table(rows[len(first) :]))


def _play_with_progress(wanted: Sequence[Experiment], workers: int) -> list[PlayedExperiment]:
    """Play experiments with a progress bar."""
    columns = TextColumn("games"), BarColumn(None), MofNCompleteColumn(), TimeRemainingColumn()
    quiet = not console.shows_progress
    with Progress(*columns, console=console, transient=True, disable=quiet) as progress:
        bar = progress.add_task("games", total=None)
        return play_experiments(
            wanted,
            workers=workers,
            on_progress=lambda done, total: progress.update(bar, completed=done, total=total),
        )


def _show_game(game: record.Record) -> None:
    *_, last = frames(record.replay(game))
    console.print("\nSmart against smart, always this game:")
    turns = numbered(game)
    padded = [text.ljust(max(map(len, turns)) + 2) for text in turns]
    for begin in range(0, len(turns), TURNS_PER_LINE):
        console.print("".join(padded[begin : begin + TURNS_PER_LINE]).rstrip())
    console.print(f"\n{last}")


def main() -> int:
    """Run the command line; return the exit status, 2 for bad input."""
    return application.run(app)


if __name__ == "__main__":
    sys.exit(main())
