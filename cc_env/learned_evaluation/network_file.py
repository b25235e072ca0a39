"""The file of a network, and the networks that the package ships with.

    cc_env network 3 LENGTH SHA256   version, bytes of the header, hash of all that follows
    {"game": "capture_conquer", …}   the header, JSON, see `NetworkHeader`
    weights                          the arrays of `IntegerNetwork` but `windows`, zlib

A file runs no code. It is read only where all of it has its hash, it is of this game, its options
and rules, it corrects the evaluation that the game has now, and no sum can overflow.
"""

import functools
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.errors import BadNetwork, UnknownOption, is_integer
from cc_env.files import write_atomically
from cc_env.learned_evaluation.network import (
    CELLS,
    STATES,
    UNITS,
    WIDTH,
    IntegerNetwork,
    Learned,
    aligned,
    check,
    learned,
)
from cc_env.registry.catalogue import file_stem, rules_id

SUFFIX = ".network"
VERSION = 3
SHIPPED = Path(__file__).parent / "shipped"
LEARNED_NAME = "learned"  # of the evaluation, among those of its game
MAX_SETS, MAX_WINDOWS = 16, 49
MAX_FILE_BYTES = 1 << 22  # of a file

_MAGIC = "cc_env network"
_LEVEL = 9  # of zlib


@dataclass(frozen=True, kw_only=True)
class NetworkHeader:
    """What a network is of."""

    game: str
    options: Mapping[str, Any]
    rules: str  # the id of the environment, whose version rises with every change of the rules
    sets: int  # of cells that it sees
    windows: tuple[int, ...]  # the first cell of each
    corrects: (
        str  # the hash of the evaluation that it was trained to correct, see `evaluation_hash`
    )


def file_name(game: Game) -> str:
    """Return the name of the file of a game and its options."""
    return file_stem(game.name, game.options) + SUFFIX


def add_learned_evaluation(game: Game) -> Game:
    """Return the game, with the evaluation "learned" if the package has a network for it."""
    rules.register_evaluation(type(game.initial), Learned, learned, lambda chosen: chosen.base)
    path = SHIPPED / file_name(game)
    if not path.is_file():
        return game
    evaluation = corrected_evaluation(game, _shipped(path, _Wanted.of(game)))
    evaluations = {**game.evaluations, LEARNED_NAME: evaluation}
    return game.replace(evaluations=evaluations)


def find_evaluation(game: Game, which: Any = None) -> Any:
    """As `Game.evaluation`; `which` may also be the path of a file of a network.

    Such a path ends in SUFFIX; what comes of it is the first evaluation, corrected. Raises as
    `Game.evaluation` and `read_network`.
    """
    if isinstance(which, str) and which.endswith(SUFFIX):
        return corrected_evaluation(game, read_network(Path(which), game))
    if which == LEARNED_NAME and LEARNED_NAME not in game.evaluations:
        raise UnknownOption(
            f"{game!r}: no network ships for it; python -m training.learned_evaluation trains one, "
            f"and evaluation=FOLDER/best{SUFFIX} plays by it"
        )
    return game.evaluation(which)


def corrected_evaluation(game: Game, network: IntegerNetwork) -> Learned:
    """Return the game's first evaluation, corrected by a network; raise as `check_inputs`."""
    check_inputs(game)
    return Learned(game.evaluation(), network)


def check_inputs(game: Game) -> None:
    """Raise UnknownOption unless a network can correct an evaluation of the game."""
    game.evaluation()
    try:
        rules.network_inputs.function_for([type(game.initial)])  # type: ignore[attr-defined]
    except TypeError:
        raise UnknownOption(
            f"{game.name} does not say what a network sees; "
            "wanted: rules.register_inputs(Position, network_inputs), in its module"
        ) from None


class _Wanted(NamedTuple):
    """What a network has to be of."""

    game: str
    options: tuple[tuple[str, Any], ...]
    rules: str
    corrects: str

    @classmethod
    def of(cls, game: Game) -> Self:
        base = evaluation_hash(game.evaluation())
        return cls(game.name, tuple(sorted(game.options.items())), rules_id(game.name), base)

    def __str__(self) -> str:
        return f"{self.game} {dict(self.options)} ({self.rules})"


def evaluation_hash(evaluation: Any) -> str:
    """Return a hash of an evaluation: the names of its types, and its numbers."""
    digest = hashlib.sha256()
    for part in _flat(evaluation):
        digest.update(part)
    return digest.hexdigest()


def short_hash(evaluation: Any) -> str:
    """Return 16 digits of the hash of a learned evaluation; nothing for others."""
    return evaluation_hash(evaluation)[:16] if isinstance(evaluation, Learned) else ""


def _flat(evaluation: Any) -> Iterator[bytes]:
    if isinstance(evaluation, tuple):
        yield f"{type(evaluation).__name__} {len(evaluation)}\n".encode()
        for part in evaluation:
            yield from _flat(part)
    else:
        array = np.asarray(evaluation)
        yield f"{array.dtype.name} {array.shape}\n".encode()
        yield _little(array).tobytes()


@functools.cache
def _shipped(path: Path, wanted: _Wanted) -> IntegerNetwork:
    return _read(path, wanted)


def read_network(path: Path, game: Game) -> IntegerNetwork:
    """Return the network of a file; raise BadNetwork unless it is whole and of this game, OSError.

    Its options have to be those of the game, its rules the current ones, and the evaluation that it
    corrects the game's first. Raises as `check_inputs`, too.
    """
    check_inputs(game)
    network = _read(path, _Wanted.of(game))
    seen, there = len(network.cells) // (CELLS * WIDTH), len(rules.network_inputs(game.initial))
    if seen > there:
        raise BadNetwork(f"{path}: sees {seen} sets of cells; wanted: at most {there}")
    return network


def _read(path: Path, wanted: _Wanted) -> IntegerNetwork:
    with path.open("rb") as file:
        content = file.read(MAX_FILE_BYTES + 1)
    try:
        header, packed = _opened(content)
        _check_game(header, wanted)
        network = _network(header, packed)
        check(network)
    except BadNetwork as error:
        raise BadNetwork(f"{path}: {error}") from None
    return network


def write_network(path: Path, game: Game, network: IntegerNetwork) -> None:
    """Write a network atomically; raise BadNetwork where a sum could overflow, OSError."""
    check(network)
    header = NetworkHeader(
        game=game.name,
        options=dict(game.options),
        rules=rules_id(game.name),
        sets=len(network.cells) // (CELLS * WIDTH),
        windows=tuple(network.windows.tolist()),
        corrects=evaluation_hash(game.evaluation()),
    )
    told = json.dumps(asdict(header), ensure_ascii=False).encode()
    arrays = [np.asarray(getattr(network, name)) for name, _ in _layout(header)]
    packed = zlib.compress(b"".join(_little(array).tobytes() for array in arrays), _LEVEL)
    first = f"{_MAGIC} {VERSION} {len(told)} {_hash(told + packed)}\n"
    write_atomically(path, first.encode() + told + packed)


def _opened(content: bytes) -> tuple[NetworkHeader, bytes]:
    """Return the header and the packed weights; raise BadNetwork where they lack their hash."""
    line, _, rest = content.partition(b"\n")
    words = line[:256].decode("ascii", "replace").removeprefix(f"{_MAGIC} ").split(" ")
    if not line.startswith(f"{_MAGIC} ".encode()) or len(words) != 3:
        raise BadNetwork("not a network of an evaluation")
    version, length, digest = words
    if version != str(VERSION):
        raise BadNetwork(f"of version {version[:20]!r}; wanted: {VERSION}")
    if len(content) > MAX_FILE_BYTES:
        raise BadNetwork(f"more than {MAX_FILE_BYTES:,} bytes; wanted: fewer")
    if _hash(rest) != digest or not (length.isascii() and length[:9].isdigit()):
        raise BadNetwork(f"altered or cut short, at {len(content):,} bytes; its hash is another")
    end = int(length[:9])
    return _header(rest[:end]), rest[end:]


def _header(told: bytes) -> NetworkHeader:
    try:
        words = json.loads(told)
        header = NetworkHeader(windows=tuple(words.pop("windows")), **words)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise BadNetwork("the header cannot be read") from None
    if not all(isinstance(text, str) for text in (header.game, header.rules, header.corrects)):
        raise BadNetwork("the header's game, rules and evaluation are not texts")
    if not isinstance(header.options, dict):
        raise BadNetwork("the header's options are not named")
    if not is_integer(header.sets, 0) or header.sets > MAX_SETS:
        raise BadNetwork(f"sees {header.sets!r} sets of cells; wanted: 0 to {MAX_SETS}")
    cells = all(is_integer(cell, 0) and cell < CELLS for cell in header.windows)
    if not cells or len(header.windows) > MAX_WINDOWS:
        raise BadNetwork(f"the windows are not cells, at most {MAX_WINDOWS} of 0 to {CELLS - 1}")
    return header


def _check_game(header: NetworkHeader, wanted: _Wanted) -> None:
    """Raise BadNetwork unless the network is of this game, by these rules and this evaluation."""
    options = tuple(sorted(header.options.items()))
    given = _Wanted(header.game, options, header.rules, header.corrects)
    if given[:3] != wanted[:3]:
        raise BadNetwork(f"wanted: {wanted}; found: {given!s:.300}")
    if given.corrects != wanted.corrects:
        raise BadNetwork(
            f"it corrects another evaluation than {wanted.game} has now, the one with the hash "
            f"{given.corrects:.12}; wanted: {wanted.corrects:.12}. Train it again"
        )


def _network(header: NetworkHeader, packed: bytes) -> IntegerNetwork:
    """Return the network; raise BadNetwork unless there are as many weights as the header says."""
    size = sum(count * kind.itemsize for _, (count, kind) in _layout(header))
    machine = zlib.decompressobj()
    try:
        raw = machine.decompress(packed, size + 1)
    except zlib.error:
        raise BadNetwork("the weights cannot be unpacked") from None
    if len(raw) != size or not machine.eof or machine.unused_data:
        raise BadNetwork(f"the weights are not {size:,} bytes")
    arrays, begin = {}, 0
    for name, (count, kind) in _layout(header):
        arrays[name] = np.frombuffer(raw, kind, count, begin)
        begin += count * kind.itemsize
    bias = np.int64(arrays.pop("third_bias")[0])
    windows = np.array(header.windows, np.uint64)
    return aligned(IntegerNetwork(windows=windows, **arrays, third_bias=bias))


def _layout(header: NetworkHeader) -> Iterator[tuple[str, tuple[int, np.dtype[Any]]]]:
    """Yield the arrays in a file: name, and how many numbers of which type."""
    int16, int32, int64 = np.dtype("<i2"), np.dtype("<i4"), np.dtype("<i8")
    yield "cells", (header.sets * CELLS * WIDTH, int16)
    yield "states", (len(header.windows) * STATES * WIDTH, int16)
    yield "first_bias", (WIDTH, int16)
    yield "second", (WIDTH * UNITS, int16)
    yield "second_bias", (UNITS, int32)
    yield "third", (UNITS, int32)
    yield "third_bias", (1, int64)


def _little(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(array.dtype.newbyteorder("<"))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
