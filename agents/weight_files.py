"""Files of named arrays: safetensors with a header and a hash. Reading one runs no code."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import DTypeLike, NDArray

from cc_env.errors import BadCheckpoint
from cc_env.files import write_atomically
from cc_env.version import __version__

FORMAT = 1
DTYPES = {  # as safetensors names them
    "BOOL",
    "F16",
    "F32",
    "F64",
    *(f"{kind}{bits}" for kind in "IU" for bits in (8, 16, 32, 64)),
}

Arrays = dict[str, NDArray[Any]]


def save(
    path: Path, kind: str, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
) -> None:
    """Write arrays of any shape and numeric dtype with a header (JSON), atomically.

    `kind` is one word for what the file is, such as "network". Raises OSError, and then leaves the
    old file as it was.
    """
    ready = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    full = json.dumps({"kind": kind, "format": FORMAT, "version": __version__, **header})
    write_atomically(
        path, safetensors.numpy.save(ready, {"cc_env": full, "sha256": _digest(full, ready)})
    )


def load(path: Path, kind: str) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a file.

    Raises BadCheckpoint if the file is missing, of another kind or format, broken or altered.
    """
    try:
        with safetensors.safe_open(path, "np") as file:
            full, digest = ((file.metadata() or {})[name] for name in ("cc_env", "sha256"))
            arrays = {name: _array(file, name) for name in file.keys()}  # noqa: SIM118
        header = json.loads(full)
    except FileNotFoundError as error:
        raise BadCheckpoint(f"{path}: there is no such file") from error
    except (safetensors.SafetensorError, OSError, KeyError, ValueError, RecursionError) as error:
        raise BadCheckpoint(f"{path}: the {kind} is incomplete or altered: {error!r}") from error
    if _digest(full, arrays) != digest or not isinstance(header, dict):
        raise BadCheckpoint(f"{path}: the {kind} was altered after it was saved")
    its_kind, its_format, version = map(header.get, ("kind", "format", "version"))
    if (its_kind, its_format) != (kind, FORMAT):
        raise BadCheckpoint(
            f"{path}: a {its_kind} of format {its_format}, written by cc_env {version}; "
            f"wanted a {kind} of format {FORMAT}, for cc_env {__version__}"
        )
    return header, arrays


def expect(
    arrays: Mapping[str, NDArray[Any]], name: str, shape: Sequence[int], dtype: DTypeLike
) -> NDArray[Any]:
    """Return the array `name`; raise BadCheckpoint unless it has this `shape` and `dtype`."""
    if name not in arrays:
        raise BadCheckpoint(f"there is no array {name}")
    array, wanted = arrays[name], np.dtype(dtype)
    if (array.shape, array.dtype) != (tuple(shape), wanted):
        given = f"{array.dtype}{list(array.shape)}"
        raise BadCheckpoint(f"{name} is {given}; wanted: {wanted}{list(shape)}")
    return array


def _array(file: Any, name: str) -> NDArray[Any]:
    """Return an array of an open file; raise ValueError if NumPy has no such dtype."""
    kind = file.get_slice(name).get_dtype()
    if kind not in DTYPES:
        raise ValueError(f"{name} has the dtype {kind}, which NumPy does not know")
    return np.asarray(file.get_tensor(name))


def _digest(text: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(text.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
