"""python -m training.published: the published experiments again, and what they left open.

Published  random and "smart" against each other from the game's own start, beside what the rule
           sheet says was published of it
Left open  whether it helps to move first: each strong player meets itself, from random openings

The same functions fill notebooks/published_experiments.ipynb.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from statistics import mean
from typing import Annotated, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from cc_env import games as table_of_games
from cc_env import players, record, referee
from cc_env.errors import CcEnvError, UnknownOption, is_whole
from cc_env.game import Game
from cc_env.match import FAULTS
from cc_env.pictures import Picture, draw
from training.arena import workers as processes
from training.arena.schedule import Pairing, game_seed, openings
from training.arena.standings import POINTS, Line, tally
from training.arena.wording import interval, percent

RANDOM = "random"
SMART = "minimax:depth=3,evaluation=published"
STRONG = {  # by size: where depth 6 takes seconds a game, it is left to who has the time
    6: (*(f"minimax:depth={depth}" for depth in (1, 3, 5, 6)), "mcts:simulations=400"),
    8: (*(f"minimax:depth={depth}" for depth in (1, 3, 5)), "mcts:simulations=400"),
}
OPENING_TURNS = 2  # random ones; even, so that the first player is to move again
GAMES, SEAT_GAMES = 1000, 200
FIFTH = 5  # smart plays so many times fewer games than random in each seat

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
console = Console(highlight=False)


class Figures(NamedTuple):
    """What was published of an experiment."""

    first: int
    second: int
    draws: int
    seconds: float | None = None  # a game
    turns: int | None = None  # a game

    def __str__(self) -> str:
        return f"{self.first} : {self.second} : {self.draws}"


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
    published: Figures | None = None

    def __post_init__(self) -> None:
        """Check all."""
        players.check(self.first)
        players.check(self.second)
        self.make_game()
        for name, least in (("games", 1), ("opening_turns", 0), ("seed", 0)):
            if not is_whole(value := getattr(self, name), least):
                raise UnknownOption(f"{name}={value!r}; it is a whole number from {least}")
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
    def line(self) -> Line:
        """How the first player did. Every game counts by itself: see `play`."""
        points = np.array([POINTS[each.result] for each in self.records])
        return tally(points, np.arange(len(points)))

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
        Experiment(first=SMART, second=SMART, games=1, published=Figures(0, 50, 0, turns=20)),
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


def play(experiment: Experiment, *, workers: int = 0) -> Row:
    """Play the games, in so many processes, 0 for this one alone.

    Games from the same start are independent draws if a player draws at random, games of players
    that do not are if their openings are drawn: either way the unit to count is the game.
    Raises ChildProcessError where one could not be played or a player failed in it.
    """
    found: dict[int, _Played] = {}
    for pairing, one in processes.each(partial(_timed, experiment), experiment.plan(), workers):
        if isinstance(one, processes.Failure):
            raise ChildProcessError(f"game {pairing.index} could not be played: {one}")
        if one.record.reason in FAULTS:
            why = f"{one.record.reason}, {one.record.detail}"
            raise ChildProcessError(f"game {pairing.index}, {' – '.join(pairing.players)}: {why}")
        found[pairing.index] = one
    played = [found[index] for index in sorted(found)]
    seconds = mean(each.seconds for each in played)
    return Row(experiment, tuple(each.record for each in played), seconds)


class _Played(NamedTuple):
    record: record.Record
    seconds: float


def _timed(experiment: Experiment, pairing: Pairing) -> _Played:
    """Play a game by the clock, and one before it in each process, so that none pays to compile."""
    _warm_up(experiment)
    began = time.perf_counter()
    one = _referee(experiment, pairing)
    return _Played(one, time.perf_counter() - began)


@cache
def _warm_up(experiment: Experiment) -> None:
    _referee(experiment, replace(experiment, games=1).plan()[0])


def _referee(experiment: Experiment, pairing: Pairing) -> record.Record:
    game = experiment.make_game()
    return referee.play(
        game,
        [players.make(name, game) for name in pairing.players],
        names=pairing.players,
        start=game.from_text(pairing.start),
        seed=pairing.seed,
    )


def pictures(one: record.Record) -> Iterator[Picture]:
    """Yield the picture of the position after each turn of a game."""
    match = record.replay(one)
    game, position = match.game, match.start
    for text in match.turns:
        turn = game.parse_turn(position, text)
        after = game.play_turn(position, turn)
        yield draw(game, after, last=(position, turn))
        position = after


def notation(one: record.Record) -> str:
    """Return the turns of a game, numbered."""
    return "  ".join(f"{number}. {text}" for number, text in enumerate(one.turns, 1))


def published_table(rows: Iterable[Row]) -> Table:
    """Return the experiments beside what was published, for the terminal or a notebook."""
    table = _table(
        "first – second",
        "\ngames",
        "first wins :\nsecond : draws",
        "first's score\n(95 %)",
        "\nturns",
        "seconds\na game",
        "published:\nresult",
        "\nturns",
        "seconds\na game",
    )
    for row in rows:
        given = row.experiment.published
        turns = str(given.turns) if given and given.turns else ""
        seconds = f"{given.seconds:g}" if given and given.seconds else ""
        names = " – ".join(map(_said, (row.experiment.first, row.experiment.second)))
        table.add_row(names, *_measured(row), str(given or ""), turns, seconds)
    return table


def seats_table(rows: Iterable[Row]) -> Table:
    """Return how moving first did, for the terminal or a notebook."""
    table = _table(
        "player, in both seats",
        "\ngames",
        "first wins :\nsecond : draws",
        "first's score\n(95 %)",
        "\nturns",
        "seconds\na game",
        "\ndrawn by",
    )
    for row in rows:
        size = row.experiment.size
        drawn_by = ", ".join(f"{count} {reason}" for reason, count in row.drawn_by.items())
        table.add_row(
            f"{size}×{size} {escape(row.experiment.first)}", *_measured(row), drawn_by or "–"
        )
    return table


def _table(*names: str) -> Table:
    """Return an empty table: a name that may wrap, then numbers."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(f"\n{names[0]}", overflow="fold")
    for name in names[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _measured(row: Row) -> tuple[str, ...]:
    """Return games, result, score, turns and seconds. One game has no score to speak of."""
    line = row.line
    score = f"{percent(line.score.value)}\n({interval(line.score)})"
    return (
        str(line.games),
        f"{line.wins} : {line.losses} : {line.draws}",
        score if line.games > 1 else "one game",
        f"{row.turns:.1f}",
        f"{row.seconds:.2g}",
    )


def _said(name: str) -> str:
    return "smart" if name == SMART else escape(name)


@app.command()
def main_command(
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
    count = processes.cores() if workers is None else workers
    rows = [
        play(each, workers=count)
        for each in track(first + second, "playing", console=console, transient=True)
    ]
    console.print(f"The published experiments. smart: {SMART}\n", markup=False)
    console.print(published_table(rows[: len(first)]))
    _show_game(rows[len(first) - 1].records[0])
    console.print(f"\nMoving first, after {OPENING_TURNS} random turns\n")
    console.print(seats_table(rows[len(first) :]))


def _show_game(one: record.Record) -> None:
    *_, last = pictures(one)
    console.print(f"\nSmart against smart, always this game:\n{notation(one)}", markup=False)
    console.print(f"\n{last}", markup=False)


def main() -> int:
    """Run the command line; return the exit status, 2 for bad input."""
    try:
        app()
    except (CcEnvError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
