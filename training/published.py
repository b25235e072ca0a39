"""python -m training.published: the published experiments again, and what they left open.

Published  random and "smart" against each other from the game's own start, beside what the rule
           sheet says was published of it
Left open  whether it helps to move first: each strong player meets itself, from random openings

The same functions fill notebooks/published_experiments.ipynb.
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

from cc_env import commands, record
from cc_env import games as table_of_games
from cc_env.errors import UnknownOption
from cc_env.game import Game
from cc_env.match import FAULTS
from cc_env.openings import openings
from cc_env.pictures import frames
from cc_env.terminal import Terminal, application, table_of_numbers
from training import arena
from training.arena import workers as processes
from training.arena.schedule import Pairing, game_seed
from training.arena.standings import POINTS, Line, tally
from training.arena.wording import interval, percent
from training.config import check_wholes

RANDOM = "random"
SMART = "minimax:depth=3,evaluation=published"
MCTS = "mcts:simulations=400"
STRONG = {  # by size; depth 6 takes three seconds a game on 8×8
    6: (*(f"minimax:depth={depth}" for depth in range(1, 7)), MCTS),
    8: (*(f"minimax:depth={depth}" for depth in range(1, 6)), MCTS),
}
OPENING_TURNS = 4  # random ones; even, so that the first player is to move again
GAMES, SEAT_GAMES = 1000, 200
MEASURED = "1st : 2nd : drawn", "score of the first", "turns", "s a game"  # columns
IN_A_LINE = 4  # turns
FIFTH = 5  # smart plays so many times fewer games than random in each seat

app = application()
console = Terminal()


class Figures(NamedTuple):
    """What was published of an experiment."""

    first: int
    second: int
    draws: int
    seconds: float | None = None  # a game
    turns: int | None = None  # a game

    @property
    def line(self) -> Line:
        """How the first player did, every game by itself."""
        points = np.repeat((1.0, 0.0, 0.5), (self.first, self.second, self.draws))
        return tally(points, np.arange(len(points)))


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Games of two players, all with the same seats. The same experiment is the same games.

    Raises UnknownOption where a player, a size or a number cannot be.
    """

    first: str  # spoken names, see `cc_env.players`
    second: str
    games: int
    size: int = 6
    opening_turns: int = 0  # random ones, before the players take over; even
    seed: int = 0
    is_always: bool = False  # the same game, however often it is played
    published: Figures | None = None

    def __post_init__(self) -> None:
        """Check all."""
        arena.try_players((self.first, self.second), self.make_game())
        check_wholes(self, games=1, opening_turns=0, seed=0)
        if self.opening_turns % 2:
            raise UnknownOption(
                f"opening_turns={self.opening_turns}; even, so that the first player is to move"
            )

    def make_game(self) -> Game:
        """Return the game."""
        return table_of_games.make("capture_conquer", size=self.size)

    def plan(self) -> list[Pairing]:
        """Return the games to be played."""
        game = self.make_game()
        if self.opening_turns:
            starts = openings(game, self.opening_turns, self.games, self.seed)
        else:
            starts = [game.to_text(game.initial)] * self.games
        seats = self.first, self.second
        return [
            Pairing(index, index, seats, start, game_seed(self.seed, index))
            for index, start in enumerate(starts)
        ]


@dataclass(frozen=True, eq=False)
class Row:
    """An experiment with what came of it."""

    experiment: Experiment
    records: tuple[record.Record, ...]
    seconds: float  # a game, the making of the players included

    @property
    def points(self) -> list[float]:
        """Of the first player: 0, 1/2 or 1 for each game."""
        return [POINTS[each.result] for each in self.records]

    @property
    def openings(self) -> list[int]:
        """The number of each game's opening.

        Games from the game's own start have one each: nothing joins them but their players' luck.
        """
        if not self.experiment.opening_turns:
            return list(range(len(self.records)))
        number: dict[str | None, int] = {}
        return [number.setdefault(each.start, len(number)) for each in self.records]

    @property
    def line(self) -> Line:
        """How the first player did."""
        return tally(np.array(self.points), np.array(self.openings))

    @property
    def turns(self) -> float:
        """The mean number of turns of a game, those of the opening not counted."""
        return mean(len(each.turns) for each in self.records)

    @property
    def drawn_by(self) -> dict[str, int]:
        """The draws by their reasons, most frequent first."""
        found = (each.reason for each in self.records if POINTS[each.result] == 0.5)
        return dict(Counter(sorted(found)).most_common())


def experiments(games: int = GAMES, seed: int = 0) -> list[Experiment]:
    """Return the published ones.

    Random meets random in so many games; smart meets random in a fifth of them in each seat, where
    50 were published; smart meets smart once, for all games between them are the same.
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
            is_always=True,
            published=Figures(0, 50, 0, turns=20),
        ),
    ]


def seat_advantage(
    size: int, games: int = SEAT_GAMES, seed: int = 0, names: Iterable[str] = ()
) -> list[Experiment]:
    """Return a match of each of these players with itself, from the same different openings.

    Without names it is the strong players of this size. Raises UnknownOption as Experiment does.
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


def play(
    wanted: Sequence[Experiment],
    *,
    workers: int = 0,
    on_progress: arena.Progress = lambda finished, total: None,
) -> list[Row]:
    """Play experiments, in so many processes, 0 for this one alone.

    Raises ChildProcessError where a game could not be played or a player failed in it.
    """
    tasks = [_Task(which, one, each) for which, one in enumerate(wanted) for each in one.plan()]
    found: dict[int, dict[int, _Played]] = {which: {} for which in range(len(wanted))}
    for done, (task, played) in enumerate(processes.each(_timed, tasks, workers), 1):
        if isinstance(played, processes.Failure):
            raise ChildProcessError(f"{task} could not be played: {played}")
        if played.record.reason in FAULTS:
            raise ChildProcessError(f"{task}: {played.record.reason}, {played.record.detail}")
        found[task.which][task.pairing.index] = played
        on_progress(done, len(tasks))
    return [_row(one, found[which]) for which, one in enumerate(wanted)]


def _row(experiment: Experiment, found: dict[int, "_Played"]) -> Row:
    played = [found[index] for index in sorted(found)]
    seconds = mean(each.seconds for each in played)
    return Row(experiment, tuple(each.record for each in played), seconds)


class _Task(NamedTuple):
    which: int  # of the experiments
    experiment: Experiment
    pairing: Pairing

    def __str__(self) -> str:
        return f"game {self.pairing.index} of {' – '.join(self.pairing.players)}"


class _Played(NamedTuple):
    record: record.Record
    seconds: float


def _timed(task: _Task) -> _Played:
    """Play a game by the clock, and one before it in each process, so that none pays to compile."""
    _warm_up(task.experiment)
    began = time.perf_counter()
    one = arena.play(task.experiment.make_game(), task.pairing)
    return _Played(one, time.perf_counter() - began)


@cache
def _warm_up(experiment: Experiment) -> None:
    arena.play(experiment.make_game(), replace(experiment, games=1).plan()[0])


def together(rows: Sequence[Row]) -> Line:
    """Return how the first seat did in all these matches, which had the same openings.

    What the players do from one opening may hang together: the unit that counts is the opening.
    """
    points = np.concatenate([row.points for row in rows])
    return tally(points, np.concatenate([row.openings for row in rows]))


def numbered(one: record.Record) -> list[str]:
    """Return the turns of a game in notation, with their numbers."""
    return [f"{number}. {text}" for number, text in enumerate(one.turns, 1)]


def published_table(rows: Iterable[Row]) -> Table:
    """Return the experiments, each above what was published, for the terminal or a notebook."""
    table = table_of_numbers("first – second", "games", *MEASURED)
    for row in rows:
        one = row.experiment
        names = " – ".join(map(_said, (one.first, one.second)))
        result = _result(row.line, one.is_always)
        table.add_row(Text(names), str(row.line.games), *result, *_length(row))
        if given := one.published:
            result = _result(given.line, one.is_always)
            turns = f"{given.turns}" if given.turns else ""
            seconds = f"{given.seconds:g}" if given.seconds else ""
            table.add_row(
                "  published", str(given.line.games), *result, turns, seconds, style="dim"
            )
    return table


def seats_table(rows: Sequence[Row]) -> Table:
    """Return how moving first did, for the terminal or a notebook; all players of a size last."""
    table = table_of_numbers("player, in both seats", *MEASURED, "drawn by")
    for size in dict.fromkeys(row.experiment.size for row in rows):
        ours = [row for row in rows if row.experiment.size == size]
        for row in ours:
            name = Text(f"{size}×{size} {row.experiment.first}")
            drawn_by = "\n".join(f"{count} {reason}" for reason, count in row.drawn_by.items())
            table.add_row(name, *_result(row.line), *_length(row), drawn_by)
        if len(ours) > 1:
            table.add_row(f"{size}×{size} together", *_result(together(ours)), style="bold")
    return table


def _result(line: Line, is_always: bool = False) -> tuple[str, str]:
    """Return the count of results, and the score, with its interval if other games could be."""
    known = "always" if is_always else interval(line.score)
    return f"{line.wins} : {line.losses} : {line.draws}", f"{percent(line.score.value)} ({known})"


def _length(row: Row) -> tuple[str, str]:
    return f"{row.turns:.1f}", f"{row.seconds:.2g}"


def _said(name: str) -> str:
    return "smart" if name == SMART else name


@app.command()
def run(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Who meets itself; by default minimax and mcts.",
            metavar="[PLAYER…]",
            show_default=False,
        ),
    ] = None,
    games: Annotated[
        int, typer.Option(help="Of random against random; smart plays a fifth in each seat.")
    ] = GAMES,
    seat_games: Annotated[int, typer.Option(help="Of each player against itself.")] = SEAT_GAMES,
    seed: Annotated[int, typer.Option(help="Of openings and players.")] = 0,
    workers: Annotated[
        int | None, typer.Option(min=0, help="Processes.", show_default="one a core")
    ] = None,
) -> None:
    """Play the published experiments, and say what moving first is worth to strong players."""
    first = experiments(games, seed)
    second = [
        each for size in STRONG for each in seat_advantage(size, seat_games, seed, names or ())
    ]
    rows = _play(first + second, processes.cores() if workers is None else workers)
    console.print(f"The published experiments. smart: {SMART}\n")
    console.show(published_table(rows[: len(first)]))
    _show_game(rows[len(first) - 1].records[0])
    console.print(f"\nMoving first, in {seat_games} games after {OPENING_TURNS} random turns\n")
    console.show(seats_table(rows[len(first) :]))


def _play(wanted: Sequence[Experiment], workers: int) -> list[Row]:
    """Play with a progress bar."""
    columns = TextColumn("games"), BarColumn(None), MofNCompleteColumn(), TimeRemainingColumn()
    quiet = not console.is_watched
    with Progress(*columns, console=console, transient=True, disable=quiet) as progress:
        bar = progress.add_task("games", total=None)
        return play(
            wanted,
            workers=workers,
            on_progress=lambda done, total: progress.update(bar, completed=done, total=total),
        )


def _show_game(one: record.Record) -> None:
    *_, last = frames(record.replay(one))
    console.print("\nSmart against smart, always this game:")
    turns = numbered(one)
    padded = [text.ljust(max(map(len, turns)) + 2) for text in turns]
    for begin in range(0, len(turns), IN_A_LINE):
        console.print("".join(padded[begin : begin + IN_A_LINE]).rstrip())
    console.print(f"\n{last}")


def main() -> int:
    """Run the command line; return the exit status, 2 for bad input."""
    return commands.run(app)


if __name__ == "__main__":
    sys.exit(main())
