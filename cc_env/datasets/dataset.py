"""Decisions of games as arrays, and their file: a NumPy archive (npz).

Shapes: G games, D decisions, A actions; C planes, H rows and W columns of an observation.
"""

import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env.core.game import Game, check_game_object
from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS, Position
from cc_env.errors import BadRecord, format_list
from cc_env.files import open_atomically, open_regular, reraise_as_bad_record
from cc_env.games.factory import make_game
from cc_env.match.match import Match, effective_repetition_limit
from cc_env.match.record import UNFINISHED
from cc_env.registry.catalogue import rules_id
from cc_env.registry.import_allowlist import untrusted_names
from cc_env.tablebase.tablebase import Tablebase
from cc_env.version import __version__

FORMAT = 3
# Name of the JSON text in a file that describes the data set.
METADATA = "metadata"
MAX_NAME_LENGTH = 1000
# Default limit of the arrays of a file: 2 GiB.
MAX_BYTES = 2**31


@dataclass(frozen=True, eq=False)
class Dataset:
    """Decisions of G games in order; observations and actions are in the mover's frame.

    A player has no decision in a game that ends before its first one.

    observations
        int8[D, C, H, W]: the observation of the player to move, 0 or 1.
    masks
        bool[D, A]: the legal actions.
    actions
        int64[D]: the chosen actions.
    rewards
        float32[D]: of the decision's player until its next decision: the result of the game in its
        last decision (1, 0 or -1), else 0.
    returns
        float32[D]: the result of the game for the decision's player; NaN if it is unfinished.
    terminations, truncations
        bool[D]: whether the game ended before the next decision of this player, by the rules or a
        forfeit, or by a limit or the end of an unfinished record.
    values
        float32[D]: the exact value of the position for the player to move, 1 won, 0 drawn, -1 lost;
        NaN where no table has it.
    games, seats
        int64[D]: index of the game; int8[D]: 0 for the first player, 1 for the second.
    final_observations
        int8[G, 2, C, H, W]: the last position of each game, in the frame of each
        player, the first player's first.
    final_masks
        bool[G, A]: the legal actions of the player to move there; all true if the rules or a
        forfeit ended the game.
    outcomes
        int8[G]: 0 and 1 for the winner, 2 for a draw, -1 for an unfinished game.
    endings
        str[G]: the reason of each end, as in a record: an ending of the game, "repetition",
        "max_turns", a fault, "resigned", "agreed" or "unfinished".
    limits
        int64[G, 2]: the turns after which a game is a draw, and the occurrences of a position; 0
        for no limit. Games with a repetition rule of their own have no limit of occurrences.
    players
        str[G, 2]: the names of the first and the second player.
    about
        How the games were made, as a JSON object: the settings of their command.
    """

    game: Game
    observations: NDArray[np.int8]
    masks: NDArray[np.bool_]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float32]
    returns: NDArray[np.float32]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    values: NDArray[np.float32]
    games: NDArray[np.int64]
    seats: NDArray[np.int8]
    final_observations: NDArray[np.int8]
    final_masks: NDArray[np.bool_]
    outcomes: NDArray[np.int8]
    endings: NDArray[np.str_]
    limits: NDArray[np.int64]
    players: NDArray[np.str_]
    about: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.actions)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return all arrays by name, with any shape that the class documents."""
        return {name: getattr(self, name) for name in ARRAYS}

    def save(self, path: Path | str) -> None:
        """Write a compressed npz file atomically; raise OSError and leave no part of it on failure.

        It replaces an existing file. Its arrays have the names of the attributes, and `metadata` is
        a JSON text with the game, its options, the id of the rules, the planes, the versions of the
        format and of cc_env, and `about`. The same data set gives the same bytes.
        """
        metadata = {
            "format": FORMAT,
            "game": self.game.name,
            "environment": rules_id(self.game.name),
            "options": dict(self.game.options),
            "planes": list(self.game.planes),
            "version": __version__,
            "about": dict(self.about),
        }
        arrays: dict[str, Any] = {**self.arrays(), METADATA: np.array(json.dumps(metadata))}
        with open_atomically(Path(path)) as file:
            np.savez_compressed(file, **arrays)


ARRAYS = tuple(each.name for each in fields(Dataset) if each.name not in ("game", "about"))
# The arrays that follow from others.
_DERIVED = "rewards", "returns", "terminations", "truncations"


def make_dataset(
    game: Game,
    matches: Iterable[tuple[Match, tuple[str, str]]],
    tables: Tablebase | None = None,
    about: Mapping[str, Any] | None = None,
) -> Dataset:
    """Return the decisions of matches of a game, each with the names of its players.

    `tables` contain the exact values; without them, all values are NaN. `about` is stored with the
    data set. Raises BadRecord for a match of another game, or if there are no decisions; BadTable
    for a damaged table.
    """
    columns: dict[str, list[object]] = {name: [] for name in ARRAYS if name not in _DERIVED}
    for index, (match, players) in enumerate(matches):
        check_game(match.game, game, f"game {index + 1}")
        _add_match(columns, index, match, tables)
        columns["players"].append([name[:MAX_NAME_LENGTH] for name in players])
    if not columns["actions"]:
        raise BadRecord("the games have no decisions")
    layout = _layout(game)
    arrays = {name: np.array(column, layout[name][0]) for name, column in columns.items()}
    for name, array in _ends_and_results(game, arrays).items():
        arrays[name] = array.astype(layout[name][0])
    return Dataset(game, **arrays, about=about or {})


def check_game(actual: Game, expected: Game, source: object) -> None:
    """Raise BadRecord, which names the source, unless both games have the same rules."""
    if (actual.name, dict(actual.options)) != (expected.name, dict(expected.options)):
        raise BadRecord(f"{source}: the game is {actual!r}; expected: {expected!r}")


def _add_match(
    columns: Mapping[str, list[object]], index: int, match: Match, tables: Tablebase | None
) -> None:
    """Append the decisions and the end of a match."""
    game, position = match.game, match.start
    ending = match.result.reason if match.result else UNFINISHED
    for action in (action for _, turn in match.history for action in turn):
        decision = {
            "observations": game.observe(position),
            "masks": game.action_mask(position),
            "actions": action,
            "values": _exact_value(position, tables),
            "games": index,
            "seats": game.to_move(position),
        }
        for name, value in decision.items():
            columns[name].append(value)
        position = game.apply(position, action)
    columns["final_observations"].append([game.observe(position, player) for player in (0, 1)])
    is_truncated = _is_truncation(game, np.array(ending))
    final_mask = game.action_mask(position) if is_truncated else np.ones(game.num_actions)
    columns["final_masks"].append(final_mask)
    columns["outcomes"].append(match.result.outcome if match.result else ONGOING)
    columns["endings"].append(ending[:MAX_NAME_LENGTH])
    repetitions = effective_repetition_limit(game, match.limits.repetitions)
    columns["limits"].append((match.limits.max_turns or 0, repetitions or 0))


def _ends_and_results(game: Game, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays _DERIVED of decisions, from their games and seats, outcomes and endings.

    The last decision of a player in a game is its end, and has its reward.
    """
    games, seats = arrays["games"], arrays["seats"]
    outcomes = arrays["outcomes"][games]
    _, places = np.unique((2 * games + seats)[::-1], return_index=True)
    is_last = np.zeros(len(games), np.bool_)
    is_last[len(games) - 1 - places] = True
    is_truncated = _is_truncation(game, arrays["endings"])[games]
    results = np.where(outcomes == seats, 1.0, -1.0)
    results[outcomes == DRAW] = 0
    results[outcomes == ONGOING] = np.nan
    return {
        "rewards": np.where(is_last & (outcomes != ONGOING), results, 0),
        "returns": results,
        "terminations": is_last & ~is_truncated,
        "truncations": is_last & is_truncated,
    }


def _is_truncation(game: Game, endings: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Return whether games are unfinished, or a limit, not a rule, ended them; of any shape."""
    limits = ["max_turns"] if game.repetition_limit else ["max_turns", "repetition"]
    return np.isin(endings, [UNFINISHED, *limits])


def _exact_value(position: Position, tables: Tablebase | None) -> float:
    solved = tables.get(position) if tables else None
    return np.nan if solved is None else float(solved.value)


def load_dataset(
    path: Path | str, game: Game | None = None, *, max_bytes: int = MAX_BYTES
) -> Dataset:
    """Return the data set in an npz file; reading it executes no code.

    Raises BadRecord if it is not a data set, damaged, not of `game`, or larger than `max_bytes`
    without compression; BadOption if `game` is not a game.

    Examples:

        >>> import cc_env
        >>> from cc_env.datasets.dataset import load_dataset, make_dataset
        >>> from cc_env.datasets.generation import play_matches
        >>> game = cc_env.make_game("capture_conquer", size=4)
        >>> dataset = make_dataset(game, play_matches(game, ["greedy", "random"], games=2))
        >>> dataset.save("games.npz")
        >>> loaded = load_dataset("games.npz", game)
        >>> loaded.observations.shape == (len(loaded), *game.observation_shape)
        True
        >>> loaded.players.tolist()
        [['greedy', 'random'], ['random', 'greedy']]
    """
    if game is not None:
        check_game_object(game)
    with reraise_as_bad_record(path):
        binary = open_regular(Path(path))
    try:
        with binary as file:
            if not zipfile.is_zipfile(file):
                raise BadRecord("it is not an npz file")
            file.seek(0)
            archive = np.load(file, allow_pickle=False)
            _check_size(archive, max_bytes)
            metadata = json.loads(str(archive[METADATA]))
            recorded_game = _read_game(metadata)
            arrays = {name: archive[name] for name in ARRAYS}
        _check_arrays(recorded_game, arrays)
    # zipfile and NumPy raise errors of many kinds for damaged files.
    except Exception as error:
        raise BadRecord(f"{path}: cannot be read as a data set: {error}") from error
    if game is not None:
        check_game(recorded_game, game, path)
    return Dataset(recorded_game, **arrays, about=metadata["about"])


def _check_size(archive: np.lib.npyio.NpzFile, max_bytes: int) -> None:
    """Raise BadRecord if the uncompressed arrays are larger than `max_bytes`."""
    size = sum(member.file_size for member in archive.zip.infolist()) if archive.zip else 0
    if size > max_bytes:
        raise BadRecord(f"arrays of {size:,} bytes; expected: at most max_bytes={max_bytes}")


def _read_game(metadata: object) -> Game:
    """Return the game of a data set.

    Raises BadRecord, KeyError or an error of `make_game` for invalid metadata.
    """
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        number = metadata.get("format") if isinstance(metadata, dict) else metadata
        raise BadRecord(f"format {number!r:.40}; cc_env {__version__} reads format {FORMAT}")
    name, options = metadata["game"], metadata["options"]
    if not isinstance(name, str) or not isinstance(options, dict):
        raise BadRecord(
            f"the game is {name!r:.80} with options {options!r:.80}; expected: text and an object"
        )
    with untrusted_names():
        game = make_game(name, **options)
    if metadata.get("environment") != rules_id(name):
        raise BadRecord(
            f"the rules are those of {metadata.get('environment')!r}; expected: {rules_id(name)!r}"
        )
    if not isinstance(metadata["about"], dict):
        raise BadRecord(f"about is {metadata['about']!r:.80}; expected: an object")
    if metadata.get("planes") != list(game.planes):
        raise BadRecord(f"the planes are {metadata.get('planes')!r:.80}; expected: {game.planes}")
    return game


def _layout(game: Game) -> dict[str, tuple[type[np.generic], tuple[int | str, ...]]]:
    """Return the dtype and the shape of each array; G and D stand for numbers."""
    planes = game.observation_shape
    return {
        "observations": (np.int8, ("D", *planes)),
        "masks": (np.bool_, ("D", game.num_actions)),
        "actions": (np.int64, ("D",)),
        "rewards": (np.float32, ("D",)),
        "returns": (np.float32, ("D",)),
        "terminations": (np.bool_, ("D",)),
        "truncations": (np.bool_, ("D",)),
        "values": (np.float32, ("D",)),
        "games": (np.int64, ("D",)),
        "seats": (np.int8, ("D",)),
        "final_observations": (np.int8, ("G", 2, *planes)),
        "final_masks": (np.bool_, ("G", game.num_actions)),
        "outcomes": (np.int8, ("G",)),
        "endings": (np.str_, ("G",)),
        "limits": (np.int64, ("G", 2)),
        "players": (np.str_, ("G", 2)),
    }


def _check_arrays(game: Game, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise BadRecord unless all arrays have their dtypes and shapes, and indices are valid."""
    counts = {"D": arrays["actions"].size, "G": arrays["outcomes"].size}
    for name, (dtype, shape) in _layout(game).items():
        array = arrays[name]
        expected = tuple(counts[size] if isinstance(size, str) else size for size in shape)
        is_text = dtype is np.str_ and array.dtype.kind == "U"
        if array.shape != expected or not (is_text or array.dtype == dtype):
            kind = f"{np.dtype(dtype)}{list(expected)}"
            raise BadRecord(f"{name} is {array.dtype}{list(array.shape)}; expected: {kind}")
    limits = {"actions": game.num_actions, "games": counts["G"], "seats": 2}
    wrong = [
        name
        for name, limit in limits.items()
        if ((arrays[name] < 0) | (arrays[name] >= limit)).any()
    ]
    if wrong:
        raise BadRecord(f"indices out of range in {format_list(wrong)}")
    is_legal = arrays["masks"][np.arange(counts["D"]), arrays["actions"]]
    if not is_legal.all():
        index = int(np.argmin(is_legal))
        valid = f"a legal action, true in masks[{index}]"
        raise BadRecord(f"actions[{index}]={arrays['actions'][index]}; expected: {valid}")
    _check_values(arrays)
    _check_endings(game, arrays)
    for name, derived in _ends_and_results(game, arrays).items():
        if (differs := ~np.isclose(arrays[name], derived, rtol=0, atol=0, equal_nan=True)).any():
            decision = int(differs.argmax())
            valid = "that which follows from the outcome and the ending of the game"
            raise BadRecord(f"{name}[{decision}] is {arrays[name][decision]}; expected: {valid}")


def _check_values(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise BadRecord unless planes and results are possible, and decisions are ordered by game."""
    results = (-1, 0, 1)
    valid_values: dict[str, tuple[int, ...]] = {
        "observations": (0, 1),
        "final_observations": (0, 1),
        "rewards": results,
        "returns": results,
        "values": results,
        "outcomes": (ONGOING, FIRST_WINS, SECOND_WINS, DRAW),
    }
    for name, valid in valid_values.items():
        is_valid = np.isin(arrays[name], valid)
        if name in ("returns", "values"):
            is_valid |= np.isnan(arrays[name])
        if not is_valid.all():
            value = arrays[name][~is_valid][0]
            raise BadRecord(f"{name} contains {value}; expected: {format_list(valid)}")
    is_descending = np.diff(arrays["games"]) < 0
    if is_descending.any():
        decision = int(is_descending.argmax()) + 1
        raise BadRecord(
            f"the game of decision {decision} is not at or after that of the decision before; "
            "expected: games in ascending order"
        )


def _check_endings(game: Game, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise BadRecord unless endings agree with outcomes, limits and final masks."""
    endings, outcomes, limits = arrays["endings"], arrays["outcomes"], arrays["limits"]
    is_truncated, is_unfinished = _is_truncation(game, endings), endings == UNFINISHED
    is_limit = is_truncated & ~is_unfinished
    limit = np.where(endings == "max_turns", limits[:, 0], limits[:, 1])
    has_moves, has_all = arrays["final_masks"].any(1), arrays["final_masks"].all(1)
    conditions = (
        (endings != "", "a word"),
        ((limits >= 0).all(1), "limits of 0 or more"),
        (is_unfinished == (outcomes == ONGOING), "outcome -1 in unfinished games alone"),
        (~is_limit | (outcomes == DRAW), "outcome 2"),
        (~is_limit | (limit > 0), "a limit above 0"),
        (~is_truncated | has_moves, "a legal action in final_masks"),
        (is_truncated | has_all, "final_masks that are all 1"),
    )
    for is_valid, expected in conditions:
        if not is_valid.all():
            index = int(is_valid.argmin())
            ending = str(endings[index])
            raise BadRecord(f"game {index} has the ending {ending!r:.40}; expected: {expected}")
