"""The commands `ladder` and `rate` of `python -m cc_env`."""

from typing import Annotated

from rich.table import Table
from typer import Argument, Exit, Option

from cc_env.accuracy.rating import (
    DEFAULT_GAMES,
    DEFAULT_WIDTH,
    MAX_WIDTH,
    MIN_WIDTH,
    Rating,
    compare_with_rung,
    rate,
)
from cc_env.cli.arguments import GameName, GameOptions, Size, Workers, game_options
from cc_env.cli.forfeits import warn_of_forfeits
from cc_env.errors import escape_controls, format_count
from cc_env.games.factory import make_game
from cc_env.ladder.rungs import rungs
from cc_env.output import Terminal, make_number_table
from cc_env.players.decision_hash import is_stale

console = Terminal()


# After the spec of a player that has changed since the measurement.
_STALE = " †"


def ladder(
    game_name: GameName = "capture_conquer",
    size: Size = None,
    option: GameOptions = None,
    check: Annotated[
        bool,
        Option(
            "--check/--no-check",
            help="Whether to mark players that have changed since the measurement; compiles them.",
        ),
    ] = True,
) -> None:
    """List the levels of a game's ladder, with their Elo.

    The levels answer within milliseconds; players that think longer can be stronger than the top.
    """
    game = make_game(game_name, **game_options(option, size, game_name))
    table = make_number_table("level", "Elo", "95 %", "ms/turn", "player spec")
    stale = 0
    for rung in rungs(game):
        mark = _STALE if check and is_stale(rung, game) else ""
        stale += bool(mark)
        value, low, high = rung.elo
        cells = f"{value:.0f}", f"{low:.0f} to {high:.0f}", f"{1000 * rung.seconds_per_turn:.3g}"
        table.add_row(f"{rung.level} {rung.name}", *cells, f"{rung.spec}{mark}")
    console.print_table(table)
    if stale:
        players = format_count(stale, "player")
        console.print(f"†: stale; {players} decided otherwise at the measurement of the Elo")


def rate_player(
    player: Annotated[str, Argument(help="Player spec.", metavar="PLAYER")],
    game_name: GameName = "capture_conquer",
    size: Size = None,
    option: GameOptions = None,
    width: Annotated[
        float,
        Option(min=MIN_WIDTH, max=MAX_WIDTH, help="Half-width of the confidence interval, in Elo."),
    ] = DEFAULT_WIDTH,
    max_games: Annotated[int, Option(min=8, help="Maximum number of games.")] = DEFAULT_GAMES,
    test: Annotated[
        str | None,
        Option(
            help="Only test whether the player is stronger than this level of the ladder.",
            metavar="LEVEL",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, Option(min=0, help="Seed of openings and players.")] = 0,
    workers: Workers = 0,
) -> None:
    """Measure the Elo of a player against a game's ladder.

    The exit status is 1 if the player forfeited every game by errors, illegal actions or its time.
    """
    game = make_game(game_name, **game_options(option, size, game_name))
    name = escape_controls(player)
    if test is None:
        rating = rate(
            player,
            game,
            width=width,
            max_games=max_games,
            seed=seed,
            workers=workers,
            report=_report,
        )
        verdict = "{}: Elo {:.0f} ({:.0f} to {:.0f}); random has 0".format(name, *rating.elo)
        if rating.is_out_of_range:
            verdict = f"{name}: out of the range of the ladder, {_describe_bound(rating)}"
    else:
        is_stronger, rating = compare_with_rung(
            player, game, test, max_games=max_games, seed=seed, workers=workers, report=_report
        )
        results = {True: "stronger than", False: "not stronger than", None: "undecided against"}
        verdict = f"{name}: {results[is_stronger]} level {test}"
    console.print_table(_table(rating))
    console.print(f"{verdict}; {format_count(rating.games, 'game')}")
    if warn_of_forfeits(player, rating.faults, rating.games, "game"):
        raise Exit(1)


def _describe_bound(rating: Rating) -> str:
    """Return the bound of the Elo of a player that is out of the ladder's range."""
    value, low, high = rating.elo
    return f"Elo at least {low:.0f}" if value > 0 else f"Elo at most {high:.0f}"


def _report(rating: Rating) -> None:
    """Show the rating so far, on a terminal."""
    if console.shows_progress:
        value, low, high = rating.elo
        text = f"{format_count(rating.games, 'game')}: {value:.0f} ({low:.0f} to {high:.0f})"
        console.print(f"{text:60}", end="\r")


def _table(rating: Rating) -> Table:
    """Return a table of the results against each opponent."""
    table = make_number_table("opponent", "Elo", "games", "score")
    for index, opponent in enumerate(rating.opponents):
        games, points = rating.score(index)
        if games:
            score = f"{100 * points / games:.0f} %"
            table.add_row(opponent.name, f"{opponent.elo:.0f}", f"{games}", score)
    return table
