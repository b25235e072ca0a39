"""Files of named arrays: safetensors with a header and a hash. Reading a file executes no code."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import DTypeLike, NDArray

from cc_env.errors import BadCheckpoint
from cc_env.files import open_regular, write_atomically
from cc_env.version import __version__

FORMAT = 1
# Names of dtypes in safetensors that NumPy has, too.
DTYPES = {
    "BOOL",
    "F16",
    "F32",
    "F64",
    *(f"{kind}{bits}" for kind in "IU" for bits in (8, 16, 32, 64)),
}

AnyArray: TypeAlias = NDArray[Any]
Arrays = dict[str, AnyArray]


def save(path: Path, kind: str, arrays: Mapping[str, AnyArray], header: Mapping[str, Any]) -> None:
    """Write arrays of any shape and numeric dtype with a JSON header, atomically.

    `kind` is one word for the content, such as "network". Raises OSError and leaves an existing
    file unchanged on failure.
    """
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    text = json.dumps({"kind": kind, "format": FORMAT, "version": __version__, **header})
    metadata = {"cc_env": text, "sha256": _digest(text, contiguous)}
    write_atomically(path, safetensors.numpy.save(contiguous, metadata))


def load(path: Path, kind: str) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a file.

    Raises BadCheckpoint if the file is missing, of another kind or format, broken or altered.
    """
    try:
        with open_regular(path), safetensors.safe_open(path, "np") as file:
            metadata = file.metadata() or {}
            text, digest = metadata["cc_env"], metadata["sha256"]
            arrays = {name: _array(file, name) for name in file.keys()}  # noqa: SIM118
        header = json.loads(text)
    except FileNotFoundError as error:
        raise BadCheckpoint(f"{path}: there is no such file") from error
    except (safetensors.SafetensorError, OSError, KeyError, ValueError, RecursionError) as error:
        raise BadCheckpoint(f"{path}: the {kind} is incomplete or altered: {error!r}") from error
    if _digest(text, arrays) != digest or not isinstance(header, dict):
        raise BadCheckpoint(f"{path}: the {kind} was altered after it was saved")
    if (header.get("kind"), header.get("format")) != (kind, FORMAT):
        raise BadCheckpoint(
            f"{path}: a {header.get('kind')} of format {header.get('format')}, "
            f"written by cc_env {header.get('version')}; "
            f"expected: a {kind} of format {FORMAT}, for cc_env {__version__}"
        )
    return header, arrays


def checked_array(
    arrays: Mapping[str, AnyArray], name: str, shape: Sequence[int], dtype: DTypeLike
) -> AnyArray:
    """Return the array `name`; raise BadCheckpoint unless it has this `shape` and `dtype`."""
    if name not in arrays:
        raise BadCheckpoint(f"there is no array {name}")
    array = arrays[name]
    if (array.shape, array.dtype) != (tuple(shape), np.dtype(dtype)):
        actual = f"{array.dtype}{list(array.shape)}"
        raise BadCheckpoint(f"{name} is {actual}; expected: {np.dtype(dtype)}{list(shape)}")
    return array


def _array(file: Any, name: str) -> AnyArray:
    """Return an array of an open file; raise ValueError if NumPy has no such dtype."""
    dtype = file.get_slice(name).get_dtype()
    if dtype not in DTYPES:
        raise ValueError(f"{name} has the dtype {dtype}, which NumPy lacks")
    return np.asarray(file.get_tensor(name))


def _digest(text: str, arrays: Mapping[str, AnyArray]) -> str:
    """Return a hash of the header and all arrays."""
    digest = hashlib.sha256(text.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
