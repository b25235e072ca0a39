"""Results of the trained networks in tournaments, read from the folders of the weights."""

import json
from collections.abc import Container, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from agents.shipped_weights import CONFIG, COSTS, WEIGHTS
from cc_env.games.factory import make_game
from cc_env.players.decision_hash import decision_hash
from cc_env.registry.catalogue import GAMES
from docs.make.blocks import Block, maker, table
from training.arena.folder import PROCESSORS


class Row(NamedTuple):
    """The result of a match of a trained player."""

    # Config of its last training run.
    config: dict[str, Any]
    # Entry of the file COSTS.
    cost: Mapping[str, float]
    player: str
    opponent: str
    # Wins, draws, losses, and the score with its interval.
    tally: dict[str, Any]
    # Whether the search and the evaluation of both players are those of the match.
    is_current: bool
    # The processor of a match with time limits, otherwise "".
    processor: str

    @property
    def score(self) -> str:
        """The score in per cent, its interval, and † if a player has changed since."""
        value, low, high = (100 * self.tally["score"][name] for name in ("value", "low", "high"))
        return f"{value:.1f} % ({low:.1f} – {high:.1f})" + ("" if self.is_current else " †")

    @property
    def results(self) -> str:
        """Wins, draws and losses."""
        return "{wins}-{draws}-{losses}".format(**self.tally)


@maker
def strength(block: Block) -> str:
    """Return the table of all measured matches of trained players, or of one game's."""
    rows = [*matches(block.words or GAMES)]
    rows.sort(
        key=lambda row: ([*GAMES].index(row.config["game"]), [*row.config["options"].values()])
    )
    differences = [*differing_options(rows)]
    cells = (
        (
            *(f"`{part}`" for part in (_setting(row, differences), row.player) if part),
            f"{row.cost['core_hours']:.1f}",
            f"{row.cost['gpu_minutes'] or ''}",
            f"`{row.opponent}`",
            row.processor.replace("(R)", "").replace(" Processor", ""),
            row.score,
            row.results,
        )
        for row in rows
    )
    setting = ["game"] if differences else []
    head = [*setting, "player", "#core-hours", "#GPU minutes", "against"]
    return table([*head, "processor", "#score (95 %)", "#W-D-L"], cells)


def differing_options(rows: list[Row]) -> list[str]:
    """Return the difference between the games of rows: "game", or the names of options.

    An option that follows from earlier ones, as the corner of C&C from its size, is omitted.
    """
    game = rows[0].config["game"]
    if any(row.config["game"] != game for row in rows):
        return ["game"]
    options = [row.config["options"] for row in rows]
    names: list[str] = []
    for name in options[0]:
        differs = len({values[name] for values in options}) > 1
        follows = all(
            _derived_options(game, values, names)[name] == values[name] for values in options
        )
        if differs and not follows:
            names.append(name)
    return names


def _derived_options(game: str, options: Mapping[str, Any], names: list[str]) -> Mapping[str, Any]:
    """Return all options of the game if only these `names` of the options are set."""
    return make_game(game, **{name: options[name] for name in names}).options


def _setting(row: Row, names: list[str]) -> str:
    """Return what distinguishes the game of a row; options that follow from others are omitted."""
    game, options = row.config["game"], row.config["options"]
    is_game = names == ["game"]
    if is_game:
        names = [*options] if "size" in options else []
    texts = [
        f"{name}={options[name]}"
        for index, name in enumerate(names)
        if index == 0 or _derived_options(game, options, names[:index])[name] != options[name]
    ]
    if is_game:
        size = f" {options['size']}×{options['size']}" if names else ""
        texts[:1] = [game.replace("capture_conquer", "C&C") + size]
    return ", ".join(texts)


def matches(games: Container[str] = GAMES) -> Iterator[Row]:
    """Yield the matches of trained players, of all games or some.

    Of a repeated match, yield a current one, and among several the one with most games. Matches
    with time limits on different processors are distinct.
    """
    costs = json.loads((WEIGHTS / COSTS).read_text())
    for folder in sorted(config.parent for config in WEIGHTS.glob(f"*/*/{CONFIG}")):
        config = json.loads((folder / CONFIG).read_text())
        if config["game"] not in games:
            continue
        options = tuple(config["options"].items())
        cost = costs[folder.relative_to(WEIGHTS).as_posix()]
        rows: dict[tuple[str, str, str], Row] = {}
        for measured in sorted((folder / "measured").glob("*.json")):
            tournament = json.loads(measured.read_text())
            recorded = tournament["config"].get("decisions", {})
            for (player, opponent), tally in _pairs(tournament):
                hashes = {
                    name: _current_hash(name, config["game"], options)
                    for name in (player, opponent)
                }
                is_current = all(
                    digest in (None, recorded.get(name)) for name, digest in hashes.items()
                )
                processor = _processor(tournament, player + opponent)
                row = Row(config, cost, player, opponent, tally, is_current, processor)
                key = player, opponent, processor
                rows[key] = max(rows.get(key, row), row, key=_rank)
        yield from rows.values()


@cache
def _current_hash(player: str, game: str, options: tuple[tuple[str, object], ...]) -> str | None:
    return decision_hash(player, make_game(game, **dict(options)))


def _processor(tournament: Mapping[str, Any], specs: str) -> str:
    """Return the processors of a tournament if a match of these player specs has time limits."""
    limits = tournament["config"]["limits"]
    is_timed = "seconds=" in specs or limits["seconds_per_turn"] or limits["seconds_per_game"]
    return "; ".join(tournament[PROCESSORS]) if is_timed else ""


def _rank(row: Row) -> tuple[bool, int]:
    """Return the sort key of a repeated match: whether it is current, then its games."""
    return row.is_current, row.tally["wins"] + row.tally["draws"] + row.tally["losses"]


def _pairs(tournament: Mapping[str, Any]) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """Yield the pairs of a tournament with a network, which comes first, and its results."""
    networks = tournament["config"]["weights"]
    for pair in tournament["pairs"]:
        names, tally = pair["players"], pair["tally"]
        if names[0] in networks:
            yield names, tally
        elif names[1] in networks:
            yield names[::-1], _swap_players(tally)


def _swap_players(tally: dict[str, Any]) -> dict[str, Any]:
    """Return the results of a pair for the second player."""
    score = {"value": "value", "low": "high", "high": "low"}
    swapped_score = {name: 1 - tally["score"][other] for name, other in score.items()}
    wins, draws, losses = tally["losses"], tally["draws"], tally["wins"]
    return {"score": swapped_score, "wins": wins, "draws": draws, "losses": losses}
