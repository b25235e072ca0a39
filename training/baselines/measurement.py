"""Measurement of players: matches from the openings of the baselines, accuracy, and puzzles."""

import platform
from collections.abc import Sequence
from importlib.metadata import version
from itertools import combinations
from typing import Any

from cc_env.accuracy.decisions import measure, sample_uniform
from cc_env.jit.processor import processor_name
from cc_env.match.record import Record
from cc_env.puzzles.puzzle import HARD, shipped_puzzles
from cc_env.puzzles.solve_rate import solve_rate
from cc_env.tablebase.tablebase import SHIPPED, Tablebase
from training import arena
from training.arena.standings import times
from training.baselines.boards import FIXED_PLAYERS, OPENING_SEED, OPENING_TURNS, Board

# Positions of the tablebase in which the accuracy is measured, and their seed.
_POSITIONS, _POSITION_SEED = 1000, 0
_PACKAGES = "numpy", "numba", "torch", "stable-baselines3"
# Character of a game in the results of a match, by the points of the player.
RESULT_CHARACTERS = {"1-0": "1", "1/2-1/2": "=", "0-1": "0"}
_SWAPPED = str.maketrans("10", "01")


def measure_player(spec: str, board: Board, games: int) -> dict[str, Any]:
    """Return the matches of a player against FIXED_PLAYERS, its accuracy and puzzles, as JSON."""
    matches: dict[str, Any] = {}
    records: list[Record] = []
    for opponent in FIXED_PLAYERS:
        matches[opponent], played = play(spec, opponent, board, games)
        records += played
    return _player_entry(spec, board, matches, records)


def measure_fixed_players(board: Board, games: int) -> list[dict[str, Any]]:
    """Return what `measure_player` returns for each of FIXED_PLAYERS.

    The matches of a player are those against the players before it.
    """
    matches: dict[str, dict[str, Any]] = {spec: {} for spec in FIXED_PLAYERS}
    records: list[Record] = []
    for opponent, spec in combinations(FIXED_PLAYERS, 2):
        matches[spec][opponent], played = play(spec, opponent, board, games)
        records += played
    return [_player_entry(spec, board, matches[spec], records) for spec in FIXED_PLAYERS]


def _player_entry(
    spec: str, board: Board, matches: dict[str, Any], records: Sequence[Record]
) -> dict[str, Any]:
    """Return a player's speed, accuracy, puzzles and `matches` as JSON."""
    seconds_per_turn = times([spec, *FIXED_PLAYERS], records)[spec].mean
    return {
        "spec": spec,
        "milliseconds_per_turn": round(1000 * seconds_per_turn, 3),
        "accuracy": accuracy(spec, board),
        "puzzles": puzzles(spec, board),
        "matches": matches,
    }


def play(spec: str, opponent: str, board: Board, games: int) -> tuple[dict[str, Any], list[Record]]:
    """Return the match of a player against another one as JSON, and the records of its games."""
    tournament = arena.play_tournament(
        (spec, opponent),
        board.game,
        options=board.options,
        games=games,
        opening_turns=OPENING_TURNS,
        seed=OPENING_SEED,
    )
    records = list(tournament.records.values())
    value, low, high = tournament.standings.pair(spec, opponent).tally.score
    match = {
        "results": "".join(_result_character(spec, record) for record in records),
        "distinct_games": len({(record.start, record.turns) for record in records}),
        "score": round(value, 6),
        "interval": [round(low, 6), round(high, 6)],
    }
    return match, records


def _result_character(spec: str, record: Record) -> str:
    """Return 1, = or 0 for a game that the player won, drew or lost."""
    character = RESULT_CHARACTERS[record.result]
    return character if record.players[0] == spec else character.translate(_SWAPPED)


def accuracy(spec: str, board: Board) -> dict[str, Any] | None:
    """Return the accuracy of a player in positions of the shipped tables; None without tables."""
    game = board.make_game()
    if game.numbering is None:
        return None
    tables = Tablebase(game, SHIPPED)
    if not tables.has_table(game.initial):
        return None
    positions = sample_uniform(tables, _POSITIONS, seed=_POSITION_SEED)
    measured = measure(spec, tables, positions, seed=_POSITION_SEED)
    return {
        "decisions": measured.decisions,
        "kept": round(measured.kept.value, 6),
        "kept_with_choice": round(measured.kept_with_choice.value, 6),
    }


def puzzles(spec: str, board: Board) -> dict[str, Any] | None:
    """Return the number of shipped puzzles and the share that a player solves.

    Those for people, otherwise the hard ones; None if the game has neither.
    """
    game = board.make_game()
    suite = shipped_puzzles(game) or shipped_puzzles(game, HARD)
    if not suite:
        return None
    solved = solve_rate(spec, game, suite, seed=_POSITION_SEED).share.value
    return {"positions": len(suite), "solved": round(solved, 6)}


def machine() -> dict[str, Any]:
    """Return the processor and the versions of the software, without names of hosts."""
    packages = {name: version(name) for name in _PACKAGES}
    return {
        "processor": processor_name(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {"python": platform.python_version(), **packages},
    }
