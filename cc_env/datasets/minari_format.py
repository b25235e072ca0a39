"""Data sets in Minari's local storage (extra `datasets`): one episode for each player of a game.

Shapes: T decisions of an episode, A actions; C planes, H rows and W columns of an observation.
"""

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec

from cc_env.datasets.dataset import Dataset
from cc_env.errors import BadOption, MissingExtra, format_list
from cc_env.registry.catalogue import rules_id
from cc_env.version import __version__

# The variable with the root folder of Minari's storage.
ROOT_VARIABLE = "MINARI_DATASETS_PATH"
_VALID_ID = (
    "letters, digits, - and _, with a version and a namespace of at least 2 characters, such as "
    "capture_conquer/minimax-v0"
)


def check_dataset_id(dataset_id: str) -> None:
    """Raise BadOption if a data set with this id cannot be created, MissingExtra without Minari.

    The reason is Minari's or that of the file system.
    """
    for package in ("minari", "h5py"):
        if find_spec(package) is None:
            raise MissingExtra("a Minari data set", package, "datasets")
    from minari.dataset.minari_dataset import parse_dataset_id

    name = f"data set {dataset_id!r:.80}"
    try:
        parse_dataset_id(dataset_id)
        with _temporary_folder() as temporary:
            Path(temporary, dataset_id).mkdir(parents=True)
    # A name without a version.
    except TypeError:
        raise BadOption(f"{name} has no version; expected: {_VALID_ID}") from None
    except ValueError as error:
        raise BadOption(f"{name}: Minari: {error!s:.200}; expected: {_VALID_ID}") from None
    except OSError as error:
        raise BadOption(f"{name}: {error.strerror}") from None
    if (folder := _path(dataset_id)).exists():
        raise BadOption(
            f"Minari data set {dataset_id} exists in {folder}; remove it or choose another id"
        )


def write_minari(dataset: Dataset, dataset_id: str) -> Path:
    """Write a data set to Minari's local storage; return its folder.

    `minari.load_dataset(dataset_id)` returns it, and `recover_environment()` of the result is the
    Gymnasium environment with the options and the limits of the games; there is none if the games
    have different limits. The decisions of each player in each game are an episode, as
    that player experiences it in this environment: observations int8[T + 1, C, H, W] in its own
    frame, the last one of the final position, actions int64[T], rewards, terminations and
    truncations [T]. The infos are action_mask, int8[T + 1, A], exact_value, float32[T + 1], NaN
    where unknown and in the final position, and seat, int8[T + 1]. Metadata of an episode:
    `player`, `opponent` and `ending`, the reason of the end. A player without a decision in a game
    has no episode of it.

    The data set appears when it is complete. Raises as `check_dataset_id`, and OSError.
    """
    check_dataset_id(dataset_id)
    target = _path(dataset_id)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _temporary_folder() as folder:
        with _storage_in(folder), warnings.catch_warnings():
            # Minari's advice to name an author and the like.
            warnings.simplefilter("ignore", UserWarning)
            _create(dataset, dataset_id)
        _create_namespace(dataset_id)
        shutil.move(Path(folder, dataset_id), target)
    return target


def _path(dataset_id: str) -> Path:
    """Return the folder of a data set, or Minari's root folder for "", which is created."""
    from minari.storage import get_dataset_path

    path: Path = get_dataset_path(dataset_id)
    return path


def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder in Minari's root folder; raise OSError."""
    return tempfile.TemporaryDirectory(prefix=".half-", dir=_path(""))


def _create_namespace(dataset_id: str) -> None:
    """Create the namespace of a data set in Minari's storage if it does not exist."""
    from minari.dataset.minari_dataset import parse_dataset_id
    from minari.namespace import create_namespace, list_local_namespaces

    namespace = parse_dataset_id(dataset_id)[0]
    if namespace is not None and namespace not in list_local_namespaces():
        create_namespace(namespace)


@contextmanager
def _storage_in(folder: str) -> Iterator[None]:
    """Let Minari use this root folder in the block."""
    before = os.environ.get(ROOT_VARIABLE)
    os.environ[ROOT_VARIABLE] = folder
    try:
        yield
    finally:
        if before is None:
            del os.environ[ROOT_VARIABLE]
        else:
            os.environ[ROOT_VARIABLE] = before


def _create(dataset: Dataset, dataset_id: str) -> None:
    import minari

    game, names = dataset.game, np.unique(dataset.players)
    description = (
        f"{len(dataset.outcomes)} games of {game!r} by {format_list(names)}, written by cc_env "
        f"{__version__}. Observations and actions are in the frame of the player."
    )
    episodes, metadata = zip(*_episodes(dataset), strict=True)
    created = minari.create_dataset_from_buffers(
        dataset_id,
        list(episodes),
        env=_environment(dataset),
        observation_space=spaces.Box(0, 1, game.observation_shape, np.int8),
        action_space=spaces.Discrete(game.num_actions),
        algorithm_name=format_list(names),
        description=description,
        jpeg_encoding=False,
    )
    created.storage.update_episode_metadata(metadata)


def _environment(dataset: Dataset) -> EnvSpec | None:
    """Return the spec of the environment with the options of the game and the limits of its games.

    None if the game is not registered, if the limits of the games differ, or if they limit
    repetitions without limiting turns, which no environment does.
    """
    registered = gymnasium.registry.get(rules_id(dataset.game.name))
    max_turns, repetitions = dataset.limits[0].tolist()
    is_uniform = bool((dataset.limits == dataset.limits[0]).all())
    if registered is None or not is_uniform or (repetitions and not max_turns):
        return None
    limits = {"max_turns": max_turns or None, "repetitions": repetitions or None}
    return replace(registered, kwargs={**registered.kwargs, **dataset.game.options, **limits})


def _episodes(dataset: Dataset) -> Iterator[tuple[Any, dict[str, str]]]:
    """Yield the episode of each player of each game, and its metadata."""
    from minari.data_collector import EpisodeBuffer

    starts = np.searchsorted(dataset.games, np.arange(len(dataset.outcomes) + 1))
    for index, (start, end) in enumerate(pairwise(starts)):
        for seat in (0, 1):
            rows = start + np.flatnonzero(dataset.seats[start:end] == seat)
            if not len(rows):
                continue
            count = len(rows) + 1
            final_mask = dataset.final_masks[index, np.newaxis]
            final_value = np.array([np.nan], np.float32)
            episode = EpisodeBuffer(
                observations=np.concatenate(
                    [dataset.observations[rows], dataset.final_observations[index, seat][None]]
                ),
                actions=dataset.actions[rows],
                rewards=dataset.rewards[rows],
                terminations=dataset.terminations[rows],
                truncations=dataset.truncations[rows],
                infos={
                    "action_mask": np.concatenate([dataset.masks[rows], final_mask]).astype(
                        np.int8
                    ),
                    "exact_value": np.concatenate([dataset.values[rows], final_value]),
                    "seat": np.full(count, seat, np.int8),
                },
            )
            yield (
                episode,
                {
                    "player": str(dataset.players[index, seat]),
                    "opponent": str(dataset.players[index, 1 - seat]),
                    "ending": str(dataset.endings[index]),
                },
            )
