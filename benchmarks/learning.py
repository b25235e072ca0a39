"""Rows of AlphaZero self-play: batched, and a plain loop for comparison."""

import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.measure import RUNS, Chunk, Clock, Task, add_clock, all_cores, compare, make_measure
from cc_env.core.game import Game
from cc_env.games.factory import make_game

SIMULATIONS_PER_DECISION = 64
BOARDS_PER_THREAD = 128
# Decisions per board in a chunk.
DECISIONS = 4
# Length of a run in which games end as often as they begin, in runs of the other rows.
LONG_RUN = 20
# Unit, clock, index of the result of `_compare_backends`, note.
COMPARISONS = (
    ("decisions/s", time.process_time, 0, "the network compiled, by CPU time"),
    ("decisions/s", time.process_time, 1, "the network by torch, by CPU time"),
    ("times", time.process_time, 2, "compiled network over torch's, by CPU time"),
    ("times", time.perf_counter, 2, "compiled network over torch's, in wall-clock time"),
)


def tasks() -> list[Task]:
    """Return the tasks, in the order of the table."""
    boards = f"{BOARDS_PER_THREAD} boards"
    simulations = f"{SIMULATIONS_PER_DECISION} simulations a decision"
    batched = f"two threads on two cores, {boards} each, {simulations}"
    share = f"the network's share of the time; {batched}"
    plain = "a plain loop: one thread, one game, one leaf at a time"
    return [
        _task("decisions/s", make_measure(_make_batched_play), batched),
        _task("games/hour", lambda seconds: _long_run(seconds)[0], batched),
        _task("%", lambda seconds: _long_run(seconds)[1], share),
        *(
            _task(
                unit,
                partial(_comparison_figure, clock=clock, index=index),
                f"{note}; one thread, {boards}, both in turn",
            )
            for unit, clock, index, note in COMPARISONS
        ),
        _task("decisions/s", make_measure(_make_plain_play), plain),
    ]


def _task(unit: str, measure: Callable[[float], float], note: str) -> Task:
    """Return a task of self-play in C&C 6×6."""
    return Task("AlphaZero self-play, C&C 6×6", unit, measure, note, needs="'.[train]'")


def _make_batched_play() -> Chunk:
    """Return self-play in two threads on two cores."""
    play = all_cores()(_make_thread_play())
    return lambda: sum(tally.decisions for tally in play())


@cache
def _long_run(seconds: float) -> tuple[float, float]:
    """Return games per hour, and the network's share of the threads' time in percent."""
    play = _make_thread_play()
    with all_cores():
        play()
        games_ended, network, spent = 0, 0.0, 0.0
        start = time.perf_counter()
        while not games_ended or time.perf_counter() - start < LONG_RUN * seconds:
            for tally in play():
                games_ended += tally.games
                network, spent = network + tally.network_seconds, spent + tally.seconds
        return 3600 * games_ended / (time.perf_counter() - start), 100 * network / spent


def _comparison_figure(seconds: float, clock: Clock, index: int) -> float:
    """Return one figure of the comparison of compiled and torch networks."""
    return _compare_backends(seconds, clock)[index]


@cache
def _compare_backends(seconds: float, clock: Clock) -> list[float]:
    """Return the decisions per second with the network compiled and by torch, and the ratio."""
    plays = [add_clock(_make_worker_play(backend), clock) for backend in ("compiled", "torch")]
    compiled, torch = compare(plays, 2 * RUNS * seconds)
    return [compiled, torch, compiled / torch]


def _load_network() -> tuple[Game, Any]:
    """Return the default game and its packaged network, evaluated in one thread."""
    import torch

    from agents.network import load
    from agents.shipped_weights import shipped_weights

    torch.set_num_threads(1)
    game = make_game("capture_conquer")
    return game, load(shipped_weights(game, "alphazero"), game)[0]


def _self_play_settings() -> Any:
    """Return the settings of self-play by all tasks."""
    from training.selfplay.worker import SelfPlaySettings

    return SelfPlaySettings(
        boards=BOARDS_PER_THREAD, simulations=SIMULATIONS_PER_DECISION, opponents_share=0
    )


def _make_worker_play(backend: str) -> Chunk:
    """Return self-play by a worker, DECISIONS decisions per board.

    The network is evaluated by "compiled" code or by "torch".
    """
    from agents.evaluator import Evaluator
    from agents.network import TorchNetwork
    from training.selfplay.worker import SelfPlayWorker

    game, network = _load_network()
    worker = SelfPlayWorker(game, _self_play_settings(), 0)
    is_compiled = backend == "compiled"
    evaluate = Evaluator(network) if is_compiled else TorchNetwork(network.to_weights(), "cpu")
    return lambda: worker.play(evaluate, DECISIONS)[1].decisions


def _make_thread_play() -> Callable[[], list[Any]]:
    """Return a function in which two threads take DECISIONS decisions per board.

    It returns the tally of each thread.
    """
    from training.alphazero import ThreadEngine

    game, network = _load_network()
    engine = ThreadEngine(game, _self_play_settings(), 2, (0,))

    def play() -> list[Any]:
        engine.start(network, DECISIONS)
        return [tally for _, tally in engine.finish()]

    return play


def _make_plain_play() -> Chunk:
    """Return self-play in one thread, one game and one leaf at a time."""
    from agents.evaluator import Evaluator
    from cc_env.search.puct import PUCT

    game, network = _load_network()
    search, rng = PUCT(game, Evaluator(network), batch=1), np.random.default_rng(0)
    position = game.initial

    def chunk() -> int:
        nonlocal position
        if not len(game.legal_actions(position)):
            position = game.initial
        search.search(position, simulations=SIMULATIONS_PER_DECISION)
        position = game.apply(position, int(rng.choice(game.legal_actions(position))))
        return 1

    return chunk
