"""Games for data sets: matches of players from random openings, and recorded games."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from cc_env.core import random_streams
from cc_env.core.game import Game
from cc_env.datasets.dataset import check_game
from cc_env.errors import (
    BadOption,
    BadPlayer,
    BadRecord,
    check_integer,
    check_number_of_games,
    format_list,
)
from cc_env.match.match import Limits, Match
from cc_env.match.openings import exact_opening
from cc_env.match.record import replay, replay_records, valid_games
from cc_env.match.referee import Player, play_match
from cc_env.players.specs import make_player

# A replayed match and the names of its players.
NamedMatch = tuple[Match, tuple[str, str]]


def play_matches(
    game: Game,
    players: Sequence[str],
    *,
    games: int,
    opening_turns: int = 4,
    seed: int = 0,
    limits: Limits | None = None,
) -> Iterator[NamedMatch]:
    """Yield games of two players, by player spec, or of one player against itself.

    Each game begins in a position after `opening_turns` random turns, which are not part of it. Two
    players play each opening twice, in either seat. The same seed gives the same games, if no
    player is limited by time. The call raises BadOption for a number out of range, and BadPlayer if
    a player cannot be created. The iteration raises BadOption if games end during the opening, and
    BadPlayer if a player forfeits a game.
    """
    if len(players) not in (1, 2):
        raise BadOption(f"{len(players)} players; expected: 1 or 2")
    if len(players) == 2:
        check_number_of_games(games)
    check_integer("games", games, 1)
    check_integer("opening_turns", opening_turns, 0)
    random_streams.check_seed(seed)
    both = [(spec, make_player(spec, game)) for spec in (players[0], players[-1])]
    return _play(game, both, games, opening_turns, seed, limits)


def _play(
    game: Game,
    players: Sequence[tuple[str, Player]],
    games: int,
    opening_turns: int,
    seed: int,
    limits: Limits | None,
) -> Iterator[NamedMatch]:
    """Yield the games of two players, which are a spec and its player."""
    start = game.initial
    plays_itself = players[0][0] == players[1][0]
    for index in range(games):
        streams = np.random.SeedSequence((seed, index)).spawn(2)
        is_second_leg = index % 2 == 1 and not plays_itself
        if not is_second_leg:
            start = exact_opening(game, opening_turns, np.random.default_rng(streams[0]))
        first, second = players[::-1] if is_second_leg else players
        record = play_match(
            game,
            (first[1], second[1]),
            names=(first[0], second[0]),
            start=start,
            limits=limits,
            seed=int(streams[1].generate_state(1)[0]),
        )
        if record.forfeit:
            raise BadPlayer(f"game {index + 1}: {record.forfeit}")
        yield replay(record), record.players


def read_matches(paths: Sequence[Path], game: Game | None = None) -> list[NamedMatch]:
    """Return the games in files of records, all of one game: `game`, or that of the first record.

    Raises BadRecord, which names the file and the line, at an illegal move, a broken record or a
    record of another game, or if there are no records.
    """
    matches: list[NamedMatch] = []
    for path in paths:
        for number, record, match in valid_games(path, replay_records(path)):
            game = game or match.game
            check_game(match.game, game, f"{path}, line {number}")
            matches.append((match, record.players))
    if not matches:
        raise BadRecord(f"there are no games in {format_list(paths)}")
    return matches
