"""Networks in the format ONNX, for ONNX Runtime, browsers and other languages.

Shapes: B positions, A actions; C planes, H rows and W columns of an observation.
"""

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn

from agents.network import Network
from cc_env.core.game import Game
from cc_env.errors import BadOption, MissingExtra
from cc_env.registry.catalogue import rules_id
from cc_env.version import __version__

INPUT, OUTPUTS = "observations", ("logits", "values")
_DESCRIPTION = """Policy and value of positions, in the frame of the player to move.
observations: int8[B, C, H, W], the planes of the metadata entry `planes`, zeros and ones.
logits: float32[B, A], one for each action id; those of illegal actions are meaningless.
values: float32[B], the expected result for the player to move, -1 to 1."""


class _Int8Network(nn.Module):
    """A network whose input has the dtype of observations."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        logits, values = self.network(observations.float())
        return logits, values


def to_onnx(network: Network, game: Game, fingerprint: str = "") -> bytes:
    """Return a network in float32 as an ONNX model for batches of any size B.

    The input `observations`, int8[B, C, H, W], are those of environments and of `game.observe`. The
    outputs are `logits`, float32[B, A], and `values`, float32[B], as in `agents.network.Network`.
    The metadata are the texts `game`, `environment`, `options` and `planes` (both JSON),
    `fingerprint`, which identifies the weights, and `version`, that of cc_env. The model contains
    no paths or names of this machine. Raises BadOption for a network of another game, MissingExtra
    without the packages onnx and onnxscript.

    Examples:

        >>> import cc_env, onnxruntime
        >>> from agents.onnx_export import to_onnx
        >>> game = cc_env.make_game("capture_conquer")
        >>> model = to_onnx(cc_env.load_network("alphazero", game), game)
        >>> session = onnxruntime.InferenceSession(model)
        >>> observations = game.observe(game.initial)[None]
        >>> logits, values = session.run(None, {"observations": observations})
        >>> logits.shape == (1, game.num_actions), values.shape
        (True, (1,))
    """
    _require_packages()
    actual = network.observation_shape, len(network.action_cells)
    if actual != (expected := (game.observation_shape, game.num_actions)):
        shapes = "a network for observations {} and {} actions".format
        raise BadOption(f"{shapes(*actual)}; {game!r} has {expected[0]} and {expected[1]}")
    example = torch.zeros((2, *game.observation_shape), dtype=torch.int8)
    with _suppress_logs():
        program: Any = torch.onnx.export(
            _Int8Network(network).eval(),
            (example,),
            input_names=[INPUT],
            output_names=OUTPUTS,
            dynamic_shapes=({0: torch.export.Dim("batch")},),
            dynamo=True,
            verbose=False,
        )
    _remove_traces(program.model)
    program.model.doc_string = _DESCRIPTION
    program.model.metadata_props.update(
        game=game.name,
        environment=rules_id(game.name),
        options=json.dumps(dict(game.options)),
        planes=json.dumps(game.planes),
        fingerprint=fingerprint,
        version=__version__,
    )
    model: bytes = program.model_proto.SerializeToString()
    return model


@contextmanager
def _suppress_logs() -> Iterator[None]:
    """Suppress logs, and warnings of deprecations within torch."""
    level = logging.root.manager.disable
    # Traces of the export take most of its time if some handler collects them.
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        logging.disable(level)


def _remove_traces(model: Any) -> None:
    """Remove the metadata that torch adds about the source of each node, such as file paths."""
    for node in model.graph.all_nodes():
        node.metadata_props.clear()
        node.doc_string = None
        for value in node.outputs:
            value.metadata_props.clear()
    for value in (*model.graph.inputs, *model.graph.initializers.values()):
        value.metadata_props.clear()


def _require_packages() -> None:
    """Raise MissingExtra unless the packages that torch needs for the export are installed."""
    for package in ("onnx", "onnxscript"):
        if find_spec(package) is None:
            raise MissingExtra("the export to ONNX", package, "onnx")
