"""The file of an evaluation network, and the networks shipped with the package.

    cc_env network 3 LENGTH SHA256   first line; the hash covers everything else
    {"game": "capture_conquer", …}   the header, JSON, see `NetworkHeader`
    weights                          the arrays of `IntegerNetwork` but `windows`, zlib

Reading a file executes no code. A file is accepted only if its hash is right, it is of the same
game, options and rules, it corrects the game's present evaluation, and no sum can overflow.
"""

import functools
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env import container
from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.errors import BadNetwork, UnknownOption, is_integer
from cc_env.files import open_regular, write_atomically
from cc_env.learned_evaluation.network import (
    CELLS,
    STATES,
    UNITS,
    WIDTH,
    IntegerNetwork,
    Learned,
    align,
    check,
    evaluate_learned,
    with_cache,
    with_network,
)
from cc_env.registry.catalogue import file_stem, rules_id

SUFFIX = ".network"
VERSION = 3
SHIPPED = Path(__file__).parent / "shipped"
# Name of the learned evaluation among those of its game.
LEARNED_NAME = "learned"
MAX_SETS, MAX_WINDOWS = 16, 49
MAX_FILE_BYTES = 1 << 22

_MAGIC = "cc_env network"


@dataclass(frozen=True, kw_only=True)
class NetworkHeader:
    """The description of a network."""

    game: str
    options: Mapping[str, Any]
    # Id of the environment, whose version rises with every change of the rules.
    rules: str
    # Number of sets of cells among the inputs.
    sets: int
    # First cell of each window.
    windows: tuple[int, ...]
    # Hash of the evaluation that the network was trained to correct.
    corrects: str


def file_name(game: Game) -> str:
    """Return the name of the file of a game and its options."""
    return file_stem(game.name, game.options) + SUFFIX


def add_learned_evaluation(game: Game) -> Game:
    """Return the game, with the evaluation "learned" if a network is shipped for it."""
    rules.register_evaluation(
        type(game.initial),
        Learned,
        evaluate_learned,
        ordering=lambda evaluation: evaluation.base,
        with_cache=with_cache,
    )
    path = SHIPPED / file_name(game)
    if not path.is_file():
        return game
    evaluation = corrected_evaluation(game, _read_cached(path, *_identity(game)))
    return game.replace(evaluations={**game.evaluations, LEARNED_NAME: evaluation})


def find_evaluation(game: Game, evaluation: Any = None) -> Any:
    """Return an evaluation of the game by name, or by the path of a network file.

    Such a path ends in SUFFIX; the result is the game's default evaluation, corrected by that
    network. Raises UnknownOption if the game has no such evaluation, or no inputs of a network,
    BadOption for a name that is not a text, OSError or BadNetwork if the file cannot be used.
    """
    if isinstance(evaluation, str) and evaluation.endswith(SUFFIX):
        return corrected_evaluation(game, read_network(Path(evaluation), game))
    if evaluation == LEARNED_NAME and LEARNED_NAME not in game.evaluations:
        raise UnknownOption(
            f"{game!r}: no network is shipped for it; python -m training.learned_evaluation trains "
            f"one, to be used by evaluation=FOLDER/best{SUFFIX}"
        )
    return game.evaluation(evaluation)


def corrected_evaluation(game: Game, network: IntegerNetwork) -> Learned:
    """Return the game's default evaluation, corrected by a network.

    Raises UnknownOption if a network cannot correct an evaluation of the game.
    """
    check_inputs(game)
    return with_network(game.evaluation(), network)


def check_inputs(game: Game) -> None:
    """Raise UnknownOption unless a network can correct an evaluation of the game."""
    game.evaluation()
    try:
        rules.network_inputs.function_for([type(game.initial)])  # type: ignore[attr-defined]
    except TypeError:
        raise UnknownOption(
            f"{game.name} does not define the inputs of a network; "
            "expected: rules.register_inputs(Position, network_inputs) in its module"
        ) from None


def evaluation_hash(evaluation: Any) -> str:
    """Return a hash of an evaluation: the names of its types, and its numbers."""
    digest = hashlib.sha256()
    for part in _hashed_parts(evaluation):
        digest.update(part)
    return digest.hexdigest()


def short_hash(evaluation: Any) -> str:
    """Return the first 16 hexadecimal digits of the hash of a learned evaluation, "" for others."""
    return evaluation_hash(evaluation)[:16] if isinstance(evaluation, Learned) else ""


def _hashed_parts(evaluation: Any) -> Iterator[bytes]:
    if isinstance(evaluation, tuple):
        # All parts but the cache.
        parts = (
            (evaluation.base, evaluation.network) if isinstance(evaluation, Learned) else evaluation
        )
        yield f"{type(evaluation).__name__} {len(parts)}\n".encode()
        for part in parts:
            yield from _hashed_parts(part)
    else:
        array = np.asarray(evaluation)
        yield f"{array.dtype.name} {array.shape}\n".encode()
        yield _little_endian_bytes(array)


def read_network(path: Path, game: Game) -> IntegerNetwork:
    """Return the network in a file, checked to be one for this game.

    Its options and rules must be those of the game, it may have at most the game's sets of inputs,
    and it must have been trained to correct the game's default evaluation. Raises OSError if the
    file cannot be read, BadNetwork if it is damaged or for another game, UnknownOption if the game
    has no evaluation or no inputs of a network.
    """
    check_inputs(game)
    network = _read(path, *_identity(game))
    max_sets = len(rules.network_inputs(game.initial))
    if network.num_sets > max_sets:
        raise BadNetwork(f"{path}: {network.num_sets} sets of cells; expected: at most {max_sets}")
    return network


def _identity(game: Game) -> tuple[str, str]:
    """Return what a network's header must contain: the game, as text, and the evaluation's hash."""
    description = container.describe(game.name, game.options, rules_id(game.name))
    return description, evaluation_hash(game.evaluation())


def _read(path: Path, game: str, evaluation: str) -> IntegerNetwork:
    with open_regular(path) as file:
        content = file.read(MAX_FILE_BYTES + 1)
    try:
        header, packed = _parse(content)
        _check_identity(header, game, evaluation)
        network = _unpack(header, packed)
        check(network)
    except ValueError as error:
        raise BadNetwork(f"{path}: {error}") from None
    return network


_read_cached = functools.cache(_read)


def write_network(path: Path, game: Game, network: IntegerNetwork) -> None:
    """Write a network atomically.

    Raises BadNetwork if its windows are invalid or a sum could overflow, OSError if the file cannot
    be written.
    """
    check(network)
    header = NetworkHeader(
        game=game.name,
        options=dict(game.options),
        rules=rules_id(game.name),
        sets=network.num_sets,
        windows=tuple(network.windows.tolist()),
        corrects=evaluation_hash(game.evaluation()),
    )
    encoded = container.encode_header(asdict(header))
    arrays = [np.asarray(getattr(network, name)) for name, *_ in _array_layout(header)]
    packed = container.compress(b"".join(map(_little_endian_bytes, arrays)))
    first_line = container.format_first_line(_MAGIC, VERSION, encoded, packed)
    write_atomically(path, first_line + encoded + packed)


def _parse(content: bytes) -> tuple[NetworkHeader, bytes]:
    """Return the header and the compressed weights; raise ValueError for an invalid file."""
    first = container.parse_first_line(content, _MAGIC, VERSION)
    if len(content) > MAX_FILE_BYTES:
        raise ValueError(f"more than {MAX_FILE_BYTES:,} bytes")
    if container.sha256(content[first.header_start :]) != first.sha256:
        raise ValueError(
            f"altered or truncated: the SHA-256 of its {len(content):,} bytes does not match"
        )
    header_end = first.header_start + first.header_length
    return _parse_header(content[first.header_start : header_end]), content[header_end:]


def _parse_header(encoded: bytes) -> NetworkHeader:
    """Return the header; raise ValueError if it is invalid."""
    try:
        fields = json.loads(encoded)
        header = NetworkHeader(windows=tuple(fields.pop("windows")), **fields)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise ValueError("the header cannot be read") from None
    if not all(isinstance(text, str) for text in (header.game, header.rules, header.corrects)):
        raise ValueError("the header's game, rules and evaluation are not strings")
    if not isinstance(header.options, dict):
        raise ValueError("the header's options are not named")
    if not is_integer(header.sets, 0, MAX_SETS):
        raise ValueError(f"{header.sets!r} sets of cells; expected: 0 to {MAX_SETS}")
    are_cells = all(is_integer(cell, 0, CELLS - 1) for cell in header.windows)
    if not are_cells or len(header.windows) > MAX_WINDOWS:
        raise ValueError(f"the windows are not cells, at most {MAX_WINDOWS} of 0 to {CELLS - 1}")
    return header


def _check_identity(header: NetworkHeader, game: str, evaluation: str) -> None:
    """Raise ValueError unless the network is of this game and corrects this evaluation."""
    actual = container.describe(header.game, header.options, header.rules)
    if actual != game:
        raise ValueError(f"the network is of {actual:.300}; expected: {game}")
    if header.corrects != evaluation:
        raise ValueError(
            f"it was trained to correct the evaluation {header.corrects:.12}, but {header.game} "
            f"now has {evaluation:.12}; retrain it"
        )


def _unpack(header: NetworkHeader, packed: bytes) -> IntegerNetwork:
    """Return the network; raise ValueError unless the weights have the size in the header."""
    layout = _array_layout(header)
    content = container.decompress(
        packed, sum(count * dtype.itemsize for _, count, dtype in layout)
    )
    arrays = {}
    start = 0
    for name, count, dtype in layout:
        arrays[name] = np.frombuffer(content, dtype, count, start)
        start += count * dtype.itemsize
    bias = np.int64(arrays.pop("third_bias")[0])
    windows = np.array(header.windows, np.uint64)
    return align(IntegerNetwork(windows=windows, **arrays, third_bias=bias))


def _array_layout(header: NetworkHeader) -> list[tuple[str, int, np.dtype[Any]]]:
    """Return the name, the size and the dtype of the arrays in a file."""
    int16, int32, int64 = np.dtype("<i2"), np.dtype("<i4"), np.dtype("<i8")
    return [
        ("cells", header.sets * CELLS * WIDTH, int16),
        ("states", len(header.windows) * STATES * WIDTH, int16),
        ("first_bias", WIDTH, int16),
        ("second", WIDTH * UNITS, int16),
        ("second_bias", UNITS, int32),
        ("third", UNITS, int32),
        ("third_bias", 1, int64),
    ]


def _little_endian_bytes(array: NDArray[Any]) -> bytes:
    return array.astype(array.dtype.newbyteorder("<")).tobytes()
