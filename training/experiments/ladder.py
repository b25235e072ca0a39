"""cc_env measure-ladder SPEC …: measure the players of a game's ladder on one scale.

Players at most two places apart play in pairs, each opening in both seats, until the confidence
interval of every Elo is narrow enough. The next games are always those that reduce the variance
along the ladder most per second. An interrupted measurement resumes when the command is repeated.
"""

import itertools
import json
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from cc_env.accuracy.rating import ANCHOR, LIMITS, OPENING_TURNS
from cc_env.cli.application import create_app, run
from cc_env.cli.arguments import FILE, GameName, GameOptions, Size, game_options
from cc_env.core.game import Game
from cc_env.errors import BadOption, BadRecord
from cc_env.files import parse_json, read_bytes, write_atomically
from cc_env.games.factory import make_game
from cc_env.jit.processor import describe_processor
from cc_env.ladder.rungs import MEASURED, NAMES, ladder_path
from cc_env.match.confidence import Interval
from cc_env.match.openings import random_openings
from cc_env.match.record import POINTS, Record
from cc_env.match.referee import play_match
from cc_env.output import Terminal, make_number_table
from cc_env.players.decision_hash import decision_hash
from cc_env.registry.catalogue import rules_id
from training.arena.folder import PROCESSORS
from training.arena.ratings import Games, elo
from training.arena.schedule import make_players
from training.arena.standings import times

# Openings per pair and batch, each played in both seats; and the most openings of a pair.
_BATCH, _MAX_OPENINGS = 10, 2000
# Pairs whose places differ by at most this number play.
_MAX_DISTANCE = 2
# A game of the first player of a pair: won, drawn, lost.
RESULTS = {"1": 1.0, "=": 0.5, "0": 0.0}
_LETTERS = {points: letter for letter, points in RESULTS.items()}

app = create_app()
console = Terminal()


@app.command()
def measure(
    players: Annotated[
        list[str],
        typer.Argument(help="Player specs, weakest first, without random.", metavar="SPEC"),
    ],
    game_name: GameName = "capture_conquer",
    size: Size = None,
    option: GameOptions = None,
    width: Annotated[
        float, typer.Option(min=5, help="Half-width of all confidence intervals, in Elo.")
    ] = 50,
    out: Annotated[
        Path | None,
        typer.Option(**FILE, help="File of the results.", show_default="the shipped ladder's"),
    ] = None,
) -> None:
    """Measure the Elo of the players of a game's ladder, with random at 0."""
    game = make_game(game_name, **game_options(option, size, game_name))
    if not 0 < len(players) <= len(NAMES):
        raise BadOption(f"{len(players)} players; expected: 1 to {len(NAMES)}")
    measurement = Measurement(game, [ANCHOR, *players], out or ladder_path(MEASURED, game))
    measurement.run(width)
    measurement.show()
    console.print(f"ladder: {measurement.path}")


class Measurement:
    """A measurement of a ladder, stored in a file after each batch of games."""

    def __init__(self, game: Game, specs: Sequence[str], path: Path) -> None:
        """Continue the measurement in the file, if it exists.

        Raises BadOption if a player cannot be created or the file is another ladder, BadRecord if
        it is none.
        """
        self.game, self.specs, self.path = game, list(specs), path
        self._players = make_players(specs, game)
        digests = {spec: getattr(p, "fingerprint", "") for spec, p in self._players.items()}
        hashes = {spec: decision_hash(spec, game) for spec in specs}
        self._setting = {
            "game": game.name,
            "options": dict(game.options),
            "rules": rules_id(game.name),
            "opening_turns": OPENING_TURNS,
            "weights": {spec: digest for spec, digest in digests.items() if digest},
            "decisions": {spec: digest for spec, digest in hashes.items() if digest},
        }
        # Results of each pair of places, and seconds and turns of each player.
        self.results: dict[tuple[int, int], str] = {}
        self._spent = np.zeros((len(specs), 2))
        self._processors: set[str] = set()
        self._resume()

    @cached_property
    def _openings(self) -> list[str]:
        return random_openings(self.game, OPENING_TURNS, _MAX_OPENINGS, 0)

    def _resume(self) -> None:
        """Continue with the results in the file; raise BadOption if they are of another ladder."""
        if not self.path.exists():
            return
        saved = parse_json(read_bytes(self.path).decode())
        try:
            specs = [player["spec"] for player in saved["players"]]
            has_changed = any(saved[name] != value for name, value in self._setting.items())
            if has_changed or specs != self.specs:
                raise BadOption(
                    f"{self.path} is another ladder, or its players have changed; "
                    "remove it or choose another file"
                )
            for match in saved["matches"]:
                first, second = match["players"]
                if set(match["results"]) - set(RESULTS) or not 0 <= first < second < len(specs):
                    raise ValueError(f"invalid match of {match['players']!r:.80}")
                self.results[first, second] = match["results"]
            spent = ((p["seconds_per_turn"] * p["turns"], p["turns"]) for p in saved["players"])
            self._spent = np.array(list(spent), np.float64)
            self._processors = set(saved[PROCESSORS])
        except BadOption:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise BadRecord(f"{self.path}: not a ladder: {error!s:.200}") from error

    def run(self, width: float) -> None:
        """Play until no confidence interval exceeds Elo ± `width`."""
        pairs = [
            pair
            for pair in itertools.combinations(range(len(self.specs)), 2)
            if pair[1] - pair[0] <= _MAX_DISTANCE
        ]
        for pair in pairs:
            if pair not in self.results:
                self._play_batch(pair)
        while True:
            ratings = self.ratings()
            widest = max(rating.high - rating.value for rating in ratings)
            console.print(
                f"{sum(map(len, self.results.values())):,} games, ± {widest:.0f}: "
                + " ".join(f"{rating.value:.0f}" for rating in ratings)
            )
            unfinished = [pair for pair in pairs if len(self.results[pair]) < 2 * _MAX_OPENINGS]
            if widest <= width or not unfinished:
                break
            self._play_batch(max(unfinished, key=self._benefit))

    def _benefit(self, pair: tuple[int, int]) -> float:
        """Return about how much a game of a pair reduces the variance of Elo per second."""
        points = [RESULTS[letter] for letter in self.results[pair]]
        games = len(points)
        share = (sum(points) + 1) / (games + 2)
        seconds = sum(self._seconds_per_turn(player) for player in pair)
        return float(1 / (games**2 * share * (1 - share) * (seconds + 1e-4)))

    def _seconds_per_turn(self, player: int) -> float:
        seconds, turns = self._spent[player]
        return float(seconds / max(1, turns))

    def _play_batch(self, pair: tuple[int, int]) -> None:
        """Play the next openings of a pair, each in both seats, and write the file."""
        specs = [self.specs[place] for place in pair]
        results = self.results.get(pair, "")
        for index in range(len(results), len(results) + 2 * _BATCH):
            is_swapped = index % 2 == 1
            names = specs[::-1] if is_swapped else specs
            record = play_match(
                self.game,
                [self._players[name] for name in names],
                names=names,
                start=self.game.from_text(self._openings[index // 2]),
                limits=LIMITS,
                seed=index,
            )
            self._count_time(record)
            points = POINTS[record.result]
            results += _LETTERS[1 - points if is_swapped else points]
        self.results[pair] = results
        self._processors.add(describe_processor())
        self.write()

    def _count_time(self, record: Record) -> None:
        for spec, spent in times(self.specs, [record]).items():
            # Both players have about the same number of turns.
            turns = len(record.turns) / 2
            self._spent[self.specs.index(spec)] += spent.mean * turns, turns

    def ratings(self) -> list[Interval]:
        """Return the Elo of each player relative to the first."""
        rows = [
            (*pair, RESULTS[letter], index // 2)
            for pair, results in self.results.items()
            for index, letter in enumerate(results)
        ]
        first, second, points, openings = np.array(rows).T
        games = Games(
            first.astype(np.int64), second.astype(np.int64), points, openings.astype(np.int64)
        )
        return elo(games, len(self.specs), 0)

    def write(self) -> None:
        """Write the file."""
        players = [
            {
                "spec": spec,
                "elo": [round(bound, 1) for bound in rating],
                "seconds_per_turn": float(f"{self._seconds_per_turn(place):.3g}"),
                "turns": round(self._spent[place, 1]),
            }
            for place, (spec, rating) in enumerate(zip(self.specs, self.ratings(), strict=True))
        ]
        matches = [
            {"players": list(pair), "results": results} for pair, results in self.results.items()
        ]
        content = {
            **self._setting,
            "players": players,
            "matches": matches,
            PROCESSORS: sorted(self._processors),
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path, _to_lines(content))

    def show(self) -> None:
        """Print the ladder."""
        table = make_number_table("player", "Elo", "95 %", "s/turn", "games")
        for place, (spec, rating) in enumerate(zip(self.specs, self.ratings(), strict=True)):
            games = sum(len(text) for pair, text in self.results.items() if place in pair)
            interval = f"{rating.low:.0f} to {rating.high:.0f}"
            seconds = f"{self._seconds_per_turn(place):.4f}"
            table.add_row(spec, f"{rating.value:.0f}", interval, seconds, f"{games:,}")
        console.print_table(table)


def _to_lines(content: dict[str, Any]) -> str:
    """Return a JSON object with a line for each entry of its lists."""
    parts = []
    for name, value in content.items():
        text = json.dumps(value, ensure_ascii=False)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in value)
            text = f"[\n{rows}\n ]"
        parts.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    sys.exit(run(app))
