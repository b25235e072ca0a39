"""Untrusted checkpoints: altered, but with the right hash."""

import shutil

import numpy as np

from agents import weight_files
from training.runs.checkpoints import CHECKPOINT, CHECKPOINTS


def alter(run, copy, part, change):
    """Copy the folder of a run and change an array or a header field of its newest checkpoint.

    `change` maps the old value to the new one, None to remove it. Older checkpoints are deleted.
    """
    shutil.copytree(run, copy)
    *older, newest = sorted((copy / CHECKPOINTS).iterdir())
    for checkpoint in older:
        checkpoint.unlink()
    header, saved = weight_files.load(newest, CHECKPOINT)
    container = saved if part in saved else header["about"]
    if (new := change(container.pop(part))) is not None:
        container[part] = new
    weight_files.save(newest, CHECKPOINT, saved, header)


def numbers(change):
    """Return a function that replaces the first numbers of an array."""

    def replace_first(array):
        array.flat[: np.size(change)] = change
        return array

    return replace_first
