"""Checkpoints as a stranger may write them: altered, but with the right hash."""

import shutil

import numpy as np

from agents import weight_files
from training.runs.checkpoints import CHECKPOINT, CHECKPOINTS


def alter(run, copy, part, change):
    """Copy the folder of a run, and replace an array or a fact of its newest checkpoint.

    `change` returns the new one, None for none. The other checkpoints are left out.
    """
    shutil.copytree(run, copy)
    *others, newest = sorted((copy / CHECKPOINTS).iterdir())
    for other in others:
        other.unlink()
    header, saved = weight_files.load(newest, CHECKPOINT)
    where = saved if part in saved else header["about"]
    if (new := change(where.pop(part))) is not None:
        where[part] = new
    weight_files.save(newest, CHECKPOINT, saved, header)


def numbers(change):
    """Return a change of the first numbers of an array to these."""

    def altered(array):
        array.flat[: np.size(change)] = change
        return array

    return altered
