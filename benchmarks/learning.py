"""Rows of AlphaZero self-play: batched, and a plain loop for comparison."""

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from benchmarks.measure import Chunk, Tally, Task, all_cores, timed
from cc_env import games

SIMULATIONS = 64  # per decision
BOARDS = 128  # per thread
DECISIONS = 4  # per board and chunk
LONG = 20  # times the length of a run: until games end as often as they begin


def tasks() -> list[Task]:
    """Return the tasks, in the order of the table."""
    batched = (
        f"two threads on two cores, {BOARDS} boards each, {SIMULATIONS} simulations a decision"
    )
    return [
        _task("decisions/s", timed(_batched), batched),
        _task("games/hour", lambda seconds: _cost(seconds)[0], batched),
        _task(
            "%", lambda seconds: _cost(seconds)[1], f"the network's share of the time; {batched}"
        ),
        _task(
            "decisions/s", timed(_plain), "a plain loop: one thread, one game, one leaf at a time"
        ),
    ]


def _task(unit: str, measure: Callable[[float], float], note: str) -> Task:
    what = "AlphaZero self-play, C&C 6×6"
    return Task(
        what=what,
        package="cc_env",
        unit=unit,
        measure=measure,
        needs="cc_env[train]",
        note=note,
    )


def _batched() -> Chunk:
    play = _self_play()

    def chunk() -> Tally:
        with all_cores():
            began = time.perf_counter()
            tallies = play(DECISIONS)
            return Tally(sum(tally.decisions for tally in tallies), time.perf_counter() - began)

    return chunk


@cache
def _cost(seconds: float) -> tuple[float, float]:
    """Return games per hour, and the network's share of the threads' time in percent."""
    play = _self_play()
    with all_cores():
        play(DECISIONS)
        games_ended, network, spent = 0, 0.0, 0.0
        began = time.perf_counter()
        while not games_ended or time.perf_counter() - began < LONG * seconds:
            for tally in play(DECISIONS):
                games_ended += tally.games
                network, spent = network + tally.network_seconds, spent + tally.seconds
        return 3600 * games_ended / (time.perf_counter() - began), 100 * network / spent


def _self_play() -> Callable[[int], list[Any]]:
    """Return a function that takes decisions on the boards of two threads, and returns tallies."""
    import torch

    from agents import shipped
    from agents.network import load
    from training.engines import ThreadEngine
    from training.selfplay import SelfPlaySettings

    torch.set_num_threads(1)
    game = games.make("capture_conquer")
    network, _ = load(shipped(game, "alphazero"), game)
    settings = SelfPlaySettings(boards=BOARDS, simulations=SIMULATIONS, opponents_share=0)
    engine = ThreadEngine(game, settings, 2, (0,), "cpu")

    def play(decisions: int) -> list[Any]:
        engine.start(network, decisions)
        return [tally for _, tally in engine.finish()]

    return play


def _plain() -> Chunk:
    import torch

    from agents import shipped
    from agents.learned import evaluator
    from cc_env.search.puct import PUCT

    torch.set_num_threads(1)
    game = games.make("capture_conquer")
    search = PUCT(game, evaluator(shipped(game, "alphazero"), game), batch=1)
    rng = np.random.default_rng(0)
    position = game.initial

    def chunk() -> Tally:
        nonlocal position
        began = time.perf_counter()
        if not len(game.legal_actions(position)):
            position = game.initial
        search.search(position, simulations=SIMULATIONS)
        seconds = time.perf_counter() - began
        position = game.apply(position, int(rng.choice(game.legal_actions(position))))
        return Tally(1, seconds)

    return chunk
