"""cc_env published: repeat the published experiments and measure the advantage of moving first.

Published      random and "smart" against each other from the initial position, compared with the
               published results, which the rule sheet cites
First move     each strong player plays itself from random openings

notebooks/published_experiments.ipynb uses the same functions.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from statistics import mean
from typing import Annotated, NamedTuple

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from cc_env import processes
from cc_env.cli import application
from cc_env.cli.application import create_app
from cc_env.core.game import Game
from cc_env.errors import BadOption
from cc_env.games.factory import make_game
from cc_env.jit.threads import available_cores
from cc_env.match import record
from cc_env.match.match import FAULTS
from cc_env.match.openings import random_openings
from cc_env.match.record import POINTS
from cc_env.output import make_number_table
from cc_env.rendering.picture import frames
from training import arena
from training.arena.schedule import Pairing, game_seed
from training.arena.standings import Tally, make_tally
from training.arena.wording import interval, percent
from training.runs import checked
from training.runs.command_line import Workers
from training.runs.progress import console, games_progress

RANDOM = "random"
SMART = "minimax:depth=3,evaluation=published"
MCTS = "mcts:simulations=400"
# By size of the board; on 8×8, depth 6 takes three seconds per game.
STRONG = {
    6: (*(f"minimax:depth={depth}" for depth in range(1, 7)), MCTS),
    8: (*(f"minimax:depth={depth}" for depth in range(1, 6)), MCTS),
}
# Even, so that the first player is to move after the opening.
OPENING_TURNS = 4
GAMES, SEAT_GAMES = 1000, 200
RESULT_COLUMNS = "1st : 2nd : drawn", "score of the first", "turns", "s per game"
TURNS_PER_LINE = 4
# Smart plays this fraction of the games of random in each seat.
SMART_DIVISOR = 5

app = create_app()


class Figures(NamedTuple):
    """The published result of an experiment; `seconds` and `turns` are per game."""

    first: int
    second: int
    draws: int
    seconds: float | None = None
    turns: int | None = None

    @property
    def tally(self) -> Tally:
        """The results of the first player; all games are treated as independent."""
        points = np.repeat((1.0, 0.0, 0.5), (self.first, self.second, self.draws))
        return make_tally(points, np.arange(len(points)))


@dataclass(frozen=True)
class Experiment:
    """Games of two players in the same seats; the same experiment gives the same games.

    `first` and `second` are player specs. `opening_turns` is an even number of random turns. All
    games of a deterministic experiment are the same. Raises BadOption for an unknown player or size
    or a number out of range.
    """

    first: str
    second: str
    games: checked.Count
    size: int = 6
    opening_turns: checked.Natural = 0
    seed: checked.Natural = 0
    is_deterministic: bool = False
    published: Figures | None = None

    def __post_init__(self) -> None:
        """Raise BadOption if a field is invalid."""
        arena.make_players((self.first, self.second), self.make_game())
        checked.check_fields(self)
        if self.opening_turns % 2:
            raise BadOption(f"opening_turns={self.opening_turns}; expected: an even number")

    def make_game(self) -> Game:
        """Create the configured game."""
        return make_game("capture_conquer", size=self.size)

    def plan(self) -> list[Pairing]:
        """Return the scheduled games."""
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
    """An experiment with its results; `seconds` per game include the creation of the players."""

    experiment: Experiment
    records: tuple[record.Record, ...]
    seconds: float

    @property
    def points(self) -> list[float]:
        """The points of the first player in each game: 0, 1/2 or 1."""
        return [POINTS[record.result] for record in self.records]

    @property
    def openings(self) -> list[int]:
        """The opening number of each game.

        Games from the initial position are independent, so each has its own number.
        """
        if not self.experiment.opening_turns:
            return list(range(len(self.records)))
        number: dict[str | None, int] = {}
        return [number.setdefault(record.start, len(number)) for record in self.records]

    @property
    def tally(self) -> Tally:
        """The results of the first player."""
        return make_tally(np.array(self.points), np.array(self.openings))

    @property
    def turns(self) -> float:
        """The mean number of turns per game, without the opening."""
        return mean(len(record.turns) for record in self.records)

    @property
    def draw_reasons(self) -> dict[str, int]:
        """The number of draws by reason, most frequent first."""
        reasons = (record.reason for record in self.records if POINTS[record.result] == 0.5)
        return dict(Counter(sorted(reasons)).most_common())


def experiments(games: int = GAMES, seed: int = 0) -> list[Experiment]:
    """Return the published experiments.

    `random` plays `games` games against itself, and `games // SMART_DIVISOR` games against `smart`
    in each seat (50 were published). `smart` plays one game against itself, because it is
    deterministic.
    """
    smart_games = max(1, games // SMART_DIVISOR)
    random_random = Figures(510, 490, 0, seconds=0.1)
    smart_random = Figures(33, 17, 0, seconds=155)
    random_smart = Figures(19, 30, 1, seconds=178)
    smart_smart = Figures(0, 50, 0, turns=20)
    make = partial(Experiment, seed=seed)
    return [
        make(RANDOM, RANDOM, games, published=random_random),
        make(SMART, RANDOM, smart_games, published=smart_random),
        make(RANDOM, SMART, smart_games, published=random_smart),
        Experiment(SMART, SMART, 1, is_deterministic=True, published=smart_smart),
    ]


def seat_advantage(
    size: int, games: int = SEAT_GAMES, seed: int = 0, names: Iterable[str] = ()
) -> list[Experiment]:
    """Return a match of each player against itself, all from the same distinct openings.

    Without names the players are STRONG of this size. Raises BadOption for an unknown player or
    size or a number out of range.
    """
    players = tuple(names) or STRONG.get(size, STRONG[8])
    make = partial(Experiment, games=games, size=size, opening_turns=OPENING_TURNS, seed=seed)
    return [make(first=name, second=name) for name in players]


def play_experiments(
    experiments: Sequence[Experiment],
    *,
    workers: int = 0,
    on_progress: arena.Progress = lambda finished, total: None,
) -> list[PlayedExperiment]:
    """Play experiments in worker processes; 0: in this process.

    Raises ChildProcessError if a game could not be played or a player failed in it.
    """
    plans = {
        experiment: [_Task(experiment, pairing) for pairing in experiment.plan()]
        for experiment in experiments
    }
    tasks = [task for plan in plans.values() for task in plan]
    games: dict[_Task, _TimedGame] = {}
    for task, game in processes.map_unordered(_time_game, tasks, workers):
        if isinstance(game, processes.Failure):
            raise ChildProcessError(f"{task} could not be played: {game}")
        if game.record.reason in FAULTS:
            raise ChildProcessError(f"{task}: {game.record.reason}, {game.record.detail}")
        games[task] = game
        on_progress(len(games), len(tasks))
    rows = []
    for experiment in experiments:
        records, seconds = zip(*(games[task] for task in plans[experiment]), strict=True)
        rows.append(PlayedExperiment(experiment, records, mean(seconds)))
    return rows


class _Task(NamedTuple):
    experiment: Experiment
    pairing: Pairing

    def __str__(self) -> str:
        return f"game {self.pairing.index + 1} of {' – '.join(self.pairing.players)}"


class _TimedGame(NamedTuple):
    record: record.Record
    seconds: float


def _time_game(task: _Task) -> _TimedGame:
    """Play and time a game, after a first game per process that compiles everything."""
    _warm_up(task.experiment)
    start = time.perf_counter()
    game = arena.play_pairing(task.experiment.make_game(), task.pairing)
    return _TimedGame(game, time.perf_counter() - start)


@cache
def _warm_up(experiment: Experiment) -> None:
    arena.play_pairing(experiment.make_game(), replace(experiment, games=1).plan()[0])


def combine(rows: Sequence[PlayedExperiment]) -> Tally:
    """Return the results of the first seat in all these matches from the same openings.

    Games from one opening may be correlated, so intervals are clustered by opening.
    """
    points = np.concatenate([row.points for row in rows])
    return make_tally(points, np.concatenate([row.openings for row in rows]))


def numbered_turns(game: record.Record) -> list[str]:
    """Return the turns of a game in numbered notation."""
    return [f"{number}. {text}" for number, text in enumerate(game.turns, 1)]


def published_table(rows: Iterable[PlayedExperiment]) -> Table:
    """Return a table of the experiments, each followed by the published result."""
    table = make_number_table("first – second", "games", *RESULT_COLUMNS)
    for row in rows:
        experiment = row.experiment
        specs = experiment.first, experiment.second
        names = " – ".join("smart" if spec == SMART else spec for spec in specs)
        result = _result(row.tally, experiment.is_deterministic)
        table.add_row(Text(names), str(row.tally.games), *result, *_length_texts(row))
        if published := experiment.published:
            result = _result(published.tally, experiment.is_deterministic)
            turns = f"{published.turns}" if published.turns else ""
            seconds = f"{published.seconds:g}" if published.seconds else ""
            table.add_row(
                "  published", str(published.tally.games), *result, turns, seconds, style="dim"
            )
    return table


def seats_table(rows: Sequence[PlayedExperiment]) -> Table:
    """Return a table of the results of the first seat, by player and in total by board size."""
    table = make_number_table("player in both seats", *RESULT_COLUMNS, "draws")
    for size in dict.fromkeys(row.experiment.size for row in rows):
        matches = [row for row in rows if row.experiment.size == size]
        for row in matches:
            name = Text(f"{size}×{size} {row.experiment.first}")
            reasons = "\n".join(f"{count} {reason}" for reason, count in row.draw_reasons.items())
            table.add_row(name, *_result(row.tally), *_length_texts(row), reasons)
        if len(matches) > 1:
            table.add_row(f"{size}×{size} total", *_result(combine(matches)), style="bold")
    return table


def _result(tally: Tally, is_deterministic: bool = False) -> tuple[str, str]:
    """Return the counts of results, and the score with its confidence interval."""
    certainty = "always" if is_deterministic else interval(tally.score)
    return (
        f"{tally.wins} : {tally.losses} : {tally.draws}",
        f"{percent(tally.score.value)} ({certainty})",
    )


def _length_texts(row: PlayedExperiment) -> tuple[str, str]:
    """Return the mean turns and the mean seconds of a game as texts."""
    return f"{row.turns:.1f}", f"{row.seconds:.2g}"


@app.command()
def run(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Player specs, each of which plays itself; default: minimax and mcts.",
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
    workers: Workers = None,
) -> None:
    """Repeat the published experiments and measure the advantage of moving first."""
    published = experiments(games, seed)
    seat_matches = [
        match for size in STRONG for match in seat_advantage(size, seat_games, seed, names or ())
    ]
    with games_progress() as show_progress:
        rows = play_experiments(
            published + seat_matches,
            workers=available_cores() if workers is None else workers,
            on_progress=show_progress,
        )
    console.print(f"The published experiments. smart: {SMART}\n")
    console.print_table(published_table(rows[: len(published)]))
    _show_game(next(row for row in rows if row.experiment.is_deterministic).records[0])
    console.print(f"\nMoving first, in {seat_games} games after {OPENING_TURNS} random turns\n")
    console.print_table(seats_table(rows[len(published) :]))


def _show_game(game: record.Record) -> None:
    """Print the turns of a game and its result."""
    *_, last = frames(record.replay(game))
    console.print("\nThe only game of smart against smart:")
    turns = numbered_turns(game)
    padded = [text.ljust(max(map(len, turns)) + 2) for text in turns]
    for begin in range(0, len(turns), TURNS_PER_LINE):
        console.print("".join(padded[begin : begin + TURNS_PER_LINE]).rstrip())
    console.print(f"\n{last}")


if __name__ == "__main__":
    sys.exit(application.run(app))
