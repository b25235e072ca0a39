"""Rows of AlphaZero self-play: batched, and a plain loop for comparison."""

import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.measure import RUNS, Chunk, Tally, Task, all_cores, timed
from cc_env.games.factory import make_game

SIMULATIONS = 64  # per decision
BOARDS = 128  # per thread
DECISIONS = 4  # per board and chunk
LONG = 20  # times the length of a run: until games end as often as they begin
COMPARED = (  # unit, figure of `_in_turn`, note
    ("decisions/s", "compiled", "the network compiled, by CPU time"),
    ("decisions/s", "torch", "the network by torch, by CPU time"),
    ("times", "CPU", "compiled network over torch's, by CPU time"),
    ("times", "wall", "compiled network over torch's, by the clock on the wall"),
)


def tasks() -> list[Task]:
    """Return the tasks, in the order of the table."""
    batched = (
        f"two threads on two cores, {BOARDS} boards each, {SIMULATIONS} simulations a decision"
    )
    alone = f"one thread, {BOARDS} boards, both in turn"
    return [
        _task("decisions/s", timed(_batched), batched),
        _task("games/hour", lambda seconds: _cost(seconds)[0], batched),
        _task(
            "%", lambda seconds: _cost(seconds)[1], f"the network's share of the time; {batched}"
        ),
        *(
            _task(unit, partial(_compared, figure=figure), f"{note}; {alone}")
            for unit, figure, note in COMPARED
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
        needs="'.[train]'",
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


def _compared(seconds: float, figure: str) -> float:
    return _in_turn(seconds)[figure]


@cache
def _in_turn(seconds: float) -> dict[str, float]:
    """Return the figures of COMPARED: self-play with the network compiled and by torch."""
    plays = {by: _worker(by) for by in ("compiled", "torch")}
    spent = {by: np.zeros(2) for by in plays}  # seconds of CPU time and on the wall
    for play in plays.values():
        play()
    rounds = 0
    while rounds < 3 or spent["compiled"][0] < RUNS * seconds:
        rounds += 1
        for by, play in plays.items():
            began = np.array((time.process_time(), time.perf_counter()))
            play()
            spent[by] += np.array((time.process_time(), time.perf_counter())) - began
    done = rounds * DECISIONS * BOARDS
    times = spent["torch"] / spent["compiled"]
    rates = {by: float(done / sums[0]) for by, sums in spent.items()}
    return {**rates, "CPU": float(times[0]), "wall": float(times[1])}


def _worker(by: str) -> Callable[[], Any]:
    """Return a function that takes DECISIONS on the boards of a worker."""
    import torch

    from agents.network import Evaluator, load
    from agents.shipped_weights import shipped_weights
    from training.selfplay.worker import SelfPlaySettings, SelfPlayWorker

    torch.set_num_threads(1)
    game = make_game("capture_conquer")
    evaluate = Evaluator(load(shipped_weights(game, "alphazero"), game)[0], backend=by)
    settings = SelfPlaySettings(boards=BOARDS, simulations=SIMULATIONS, opponents_share=0)
    worker = SelfPlayWorker(game, settings, 0)
    return lambda: worker.play(evaluate, DECISIONS)


def _self_play() -> Callable[[int], list[Any]]:
    """Return a function that takes decisions on the boards of two threads, and returns tallies."""
    import torch

    from agents.network import load
    from agents.shipped_weights import shipped_weights
    from training.selfplay.engines import ThreadEngine
    from training.selfplay.worker import SelfPlaySettings

    torch.set_num_threads(1)
    game = make_game("capture_conquer")
    network, _ = load(shipped_weights(game, "alphazero"), game)
    settings = SelfPlaySettings(boards=BOARDS, simulations=SIMULATIONS, opponents_share=0)
    engine = ThreadEngine(game, settings, 2, (0,), "cpu")

    def play(decisions: int) -> list[Any]:
        engine.start(network, decisions)
        return [tally for _, tally in engine.finish()]

    return play


def _plain() -> Chunk:
    import torch

    from agents.network_players import load_evaluator
    from agents.shipped_weights import shipped_weights
    from cc_env.search.puct import PUCT

    torch.set_num_threads(1)
    game = make_game("capture_conquer")
    search = PUCT(game, load_evaluator(shipped_weights(game, "alphazero"), game), batch=1)
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
