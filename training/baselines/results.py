"""The results of the baselines: one JSON file for each run, and ratings on one scale per game.

    results/BOARD/ALGORITHM-SEED.json    a run
    results/BOARD/fixed.json             the round robin of the fixed players

The Elo of a player comes from its games and those of the fixed players, so it does not
depend on which other runs have been made. The results of a match are one character per game, in the
order of the schedule: 1 for a win of the player, = for a draw, 0 for a loss. Games 2k and 2k + 1
begin in opening k, first with the player and then with the opponent in the first seat.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cc_env.errors import BadRecord
from cc_env.files import read_bytes, write_atomically
from cc_env.match.confidence import Interval
from training.arena.ratings import Games, elo
from training.baselines.boards import ANCHOR, FIXED, FIXED_PLAYERS

RESULTS = Path(__file__).parent / "results"
FORMAT = 1
POINTS = {"1": 1.0, "=": 0.5, "0": 0.0}
Result = dict[str, Any]


def result_path(folder: Path, board: str, algorithm: str, seed: int | None = None) -> Path:
    """Return the path of the result of a run; without a seed, of the fixed players."""
    return folder / board / (f"{FIXED}.json" if seed is None else f"{algorithm}-{seed}.json")


def write_result(path: Path, result: Result) -> None:
    """Write a result as a file of a few lines; raise OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (f" {json.dumps(name)}: {json.dumps(value)}" for name, value in result.items())
    write_atomically(path, "{\n" + ",\n".join(lines) + "\n}\n")


def read_result(path: Path) -> Result:
    """Return a result; raise BadRecord for a file that is not one."""
    try:
        result = json.loads(read_bytes(path).decode())
        matches = [pair for player in result["players"] for pair in player["matches"].items()]
        characters = {opponent: set(match["results"]) for opponent, match in matches}
        number = result["format"]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BadRecord(f"{path}: not a result of a baseline: {error!r}") from error
    if number != FORMAT:
        raise BadRecord(f"{path}: format {number!r:.40}; expected: {FORMAT}")
    for opponent, used in characters.items():
        if opponent not in FIXED_PLAYERS or used - set(POINTS):
            raise BadRecord(f"{path}: an invalid match against {opponent!r:.80}")
    return dict(result)


class RatedPlayer(NamedTuple):
    """A player of a board with its measurements, as `measurement.measure_player` returns them."""

    spec: str
    # Relative to ANCHOR.
    elo: Interval
    measured: Mapping[str, Any]
    # The run that trained it; None if the player does not learn.
    run: Result | None

    def score(self, opponent: str) -> float | None:
        """Return the score against a player, 0 to 1; None if they did not play."""
        match = self.measured["matches"].get(opponent)
        return match and float(match["score"])


def fixed_ratings(folder: Path, board: str) -> list[RatedPlayer]:
    """Return the fixed players; none if they have not been measured."""
    path = result_path(folder, board, FIXED)
    if not path.exists():
        return []
    players = read_result(path)["players"]
    intervals = _rate(players)
    # The file has each match once.
    scores: dict[str, dict[str, Any]] = {player["spec"]: {} for player in players}
    for player in players:
        for opponent, match in player["matches"].items():
            scores[player["spec"]][opponent] = match
            scores[opponent][player["spec"]] = {"score": 1 - match["score"]}
    return [
        RatedPlayer(spec, intervals[spec], {**player, "matches": scores[spec]}, None)
        for player in players
        for spec in [player["spec"]]
    ]


def read_runs(folder: Path, board: str, algorithm: str) -> Iterator[Result]:
    """Yield the results of the runs of an algorithm on a board; raise as `read_result`."""
    for path in sorted((folder / board).glob(f"{algorithm}-[0-9]*.json")):
        yield read_result(path)


def run_ratings(folder: Path, board: str, algorithm: str) -> Iterator[tuple[int, RatedPlayer]]:
    """Yield the index of each player of each run of an algorithm, and the player, by seed."""
    fixed_path = result_path(folder, board, FIXED)
    fixed = read_result(fixed_path)["players"] if fixed_path.exists() else []
    for run in read_runs(folder, board, algorithm):
        for index, player in enumerate(run["players"]):
            rating = _rate([*fixed, player])[player["spec"]]
            yield index, RatedPlayer(player["spec"], rating, player, run)


def _rate(players: list[dict[str, Any]]) -> dict[str, Interval]:
    """Return the Elo of players and their opponents by their matches."""
    numbers = {spec: index for index, spec in enumerate(FIXED_PLAYERS)}
    for player in players:
        numbers.setdefault(player["spec"], len(numbers))
    rows = [
        (numbers[player["spec"]], numbers[opponent], POINTS[character], index // 2)
        for player in players
        for opponent, match in player["matches"].items()
        for index, character in enumerate(match["results"])
    ]
    first, second, points, openings = np.array(rows).T
    games = Games(
        first.astype(np.int64), second.astype(np.int64), points, openings.astype(np.int64)
    )
    intervals = elo(games, len(numbers), numbers[ANCHOR])
    return {spec: intervals[index] for spec, index in numbers.items()}
