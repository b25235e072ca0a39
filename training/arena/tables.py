"""The tables of a tournament in the terminal."""

from statistics import mean, median

from rich.table import Table
from rich.text import Text

from cc_env.output import Terminal, make_number_table
from training.arena import Tournament
from training.arena.standings import Tally, times
from training.arena.wording import elo, interval, milliseconds, percent, summary


def show(tournament: Tournament, console: Terminal) -> None:
    """Print the tables."""
    standings = tournament.standings
    tables = [_ladder(tournament)]
    if len(standings.players) > 2:
        tables.append(_pairs(tournament))
    if standings.learning:
        tables.append(_learning(tournament))
    for table in tables:
        console.print_table(table)
        console.print()
    seat = standings.first_seat
    console.print(f"first seat  {percent(seat.score.value)} ({interval(seat.score)}), {seat}")
    if standings.turns:
        turns = standings.turns
        console.print(f"turns       {mean(turns):.1f} on average, median {median(turns):g}")
    endings = ", ".join(f"{count} {reason}" for reason, count in standings.endings.items())
    console.print(f"endings     {endings}")
    console.print(f"\n{summary(standings)}")
    for line in tournament.forfeit_messages:
        console.print(f"warning: {line}")
    for index, reason in tournament.unplayed.items():
        names = " – ".join(tournament.schedule[index].players)
        console.print(f"game {index + 1}, {names}, could not be played: {reason}")


def _ladder(tournament: Tournament) -> Table:
    """Return the table of players, best first."""
    player_times = times(tournament.config.players, list(tournament.records.values()))
    players = tournament.standings.players
    table = make_number_table("player", "Elo", "score", "95 %", "W-D-L", "per turn", "longest")
    has_faults = any(player.faults for player in players)
    if has_faults:
        table.add_column("faults")
    for player in players:
        time = player_times.get(player.name)
        faults = ", ".join(f"{count} {reason}" for reason, count in player.faults.items())
        table.add_row(
            Text(player.name),
            elo(player.elo),
            *_cells(player.tally),
            milliseconds(time.mean) if time else "",
            milliseconds(time.longest) if time else "",
            *([faults] if has_faults else []),
        )
    return table


def _cells(tally: Tally) -> tuple[str, str, str]:
    """Return the score, its interval, and the wins, draws and losses."""
    return percent(tally.score.value), interval(tally.score), str(tally)


def _learning(tournament: Tournament) -> Table:
    """Return the table of each player's scores over the course of the tournament."""
    learning = tournament.standings.learning
    parts = max(map(len, learning.values()))
    numbers = (str(number + 1) for number in range(parts))
    table = make_number_table("score in each part of the games", *numbers)
    for name, scores in learning.items():
        table.add_row(Text(name), *(f"{score:.0%}" for score in scores))
    return table


def _pairs(tournament: Tournament) -> Table:
    """Return the table of pairs, the better player first."""
    table = make_number_table("pair", "score", "95 %", "W-D-L", "first seat")
    for pair in tournament.standings.pairs:
        name, first_seat = Text(" – ".join(pair.players)), percent(pair.first_seat.value)
        table.add_row(name, *_cells(pair.tally), first_seat)
    return table
