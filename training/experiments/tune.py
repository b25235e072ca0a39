"""cc_env tune: fit the weights of an evaluation to self-play (Texel tuning).

Each round the best weights so far play games against themselves, with a share of random moves. The
results are fitted by logistic regression on the features of the positions. The new weights then
play a match against the best ones, and replace them if they score above 50 %. Works for every
evaluation that is linear in an array field `weights`, such as that of C&C.

Shapes: N positions, F fields of a position, K weights.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.optimize import minimize

from cc_env.cli.application import create_app, run
from cc_env.cli.arguments import GameName, GameOptions, Size, game_options
from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import BadOption
from cc_env.games.factory import make_game
from cc_env.jit.compiler import jit
from cc_env.match.confidence import Interval
from cc_env.output import Terminal
from cc_env.players.builtin import MinimaxPlayer
from cc_env.players.specs import temporary_players
from cc_env.search.scores import SCALE
from cc_env.search.workspace import MAX_DEPTH
from training import arena
from training.arena.wording import interval, percent
from training.parallel.tasks import mapper, values
from training.runs.config import check_between, check_wholes
from training.selfplay import search_games
from training.selfplay.search_games import Pace

Weights = NDArray[np.int64]

app = create_app()
console = Terminal()


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of tuning."""

    rounds: int = 6
    positions: int = 100_000  # decisions of self-play per round
    matches: int = 400  # games between the new and the best weights
    depth: int = 3  # search depth in turns, in self-play and matches
    opening_turns: int = 6  # random turns before the players take over
    exploration: float = 0.05  # share of random decisions after the opening
    remembered: int = 4  # latest rounds whose games are fitted
    penalty: float = 2e-5  # L2 regularisation of the weights
    seed: int = 0
    workers: int | None = None  # processes that play; None: one per core, 0: this one

    def __post_init__(self) -> None:
        """Raise BadOption if a value is out of range."""
        check_wholes(self, rounds=1, positions=1000, matches=2, depth=(1, MAX_DEPTH))
        check_wholes(self, opening_turns=(0, search_games.LONGEST))
        check_wholes(self, remembered=1, seed=0)
        check_between(self, 0, 1, "exploration", "penalty")


class Sample(NamedTuple):
    """Positions of self-play, and the results of their games for the player to move."""

    positions: NDArray[np.uint64]  # [N, F]
    results: NDArray[np.float32]  # [N]: 0 loss, 0.5 draw, 1 win


class Round(NamedTuple):
    """The result of a round: its weights, and their match against the best ones so far."""

    weights: Weights  # [K]
    loss: float  # mean logistic loss of the fit
    score: Interval  # of the match, 0 to 1
    adopted: bool  # whether they replaced the best ones


def tune(game: Game, config: Config) -> Iterator[Round]:
    """Yield the rounds; the last adopted one has the best weights."""
    best = np.array(_evaluation(game).weights)
    samples: list[Sample] = []
    for round_ in range(config.rounds):
        samples = [*samples, self_play(game, best, config, round_)][-config.remembered :]
        joined = Sample(*map(np.concatenate, zip(*samples, strict=True)))
        weights, loss = fit(game, joined, config.penalty)
        score = match(game, weights, best, config, seed=round_)
        adopted = score.value > 0.5
        best = weights if adopted else best
        yield Round(weights, loss, score, adopted)


def self_play(game: Game, weights: Weights, config: Config, round_: int) -> Sample:
    """Let the search with these weights play against itself, on all cores; return its turns."""
    pace = search_games.pace(config.depth, config.opening_turns, config.exploration)
    count, size = search_games.tasks(config.positions)
    work = partial(_turns, game, _with(game, weights), pace, size)
    seeds = np.random.SeedSequence((config.seed, round_)).generate_state(count).tolist()
    played = values(mapper("processes", config.workers), work, seeds)
    return Sample(*map(np.concatenate, zip(*played, strict=True)))


def _turns(game: Game, evaluation: Any, pace: Pace, count: int, seed: int) -> Sample:
    """Play in a worker: positions between turns, and the results of their games."""
    played = search_games.play(game, evaluation, pace, 1, count, seed)
    return Sample(played.positions[played.begins], played.results[played.begins])


def fit(game: Game, sample: Sample, penalty: float) -> tuple[Weights, float]:
    """Return the weights int64[K] that predict the results best, and the mean logistic loss.

    The symmetric images of the positions are fitted too. Weights are scaled so that
    `cc_env.search.scores.expected_result` predicts the mean result. Weights of zero features in the
    whole sample, such as those of positions within a turn, keep the game's values.
    """
    mirrored = [
        _mirrored(sample.positions, symmetry.position, game) for symmetry in game.symmetries
    ]
    results = np.tile(sample.results, 1 + len(mirrored))
    counts = features(game, np.concatenate([sample.positions, *mirrored])).astype(np.float64)
    used = np.flatnonzero(counts.any(0))
    counts = counts[:, used]

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        logits = counts @ weights
        misses = 1 / (1 + np.exp(-logits)) - results
        value = np.logaddexp(0, logits) - results * logits
        gradient = counts.T @ misses / len(counts) + 2 * penalty * weights
        return float(value.mean() + penalty * (weights @ weights)), gradient

    solution = minimize(loss, np.zeros(len(used)), jac=True, method="L-BFGS-B")
    weights = np.array(_evaluation(game).weights)
    weights[used] = np.round(solution.x * SCALE / 2)
    return weights, float(solution.fun)


def features(game: Game, positions: NDArray[np.uint64]) -> NDArray[np.int16]:
    """Return the features int16[N, K] of positions uint64[N, F]: how often each weight counts."""
    evaluation = _evaluation(game)
    units = np.eye(len(evaluation.weights), dtype=np.int64)
    out = np.zeros((len(positions), len(units)), np.int16)
    _count(game.initial, positions, evaluation._replace(weights=units[0].copy()), units, out)
    return out


@jit
def _count(
    like: Position,
    rows: NDArray[np.uint64],
    evaluation: Any,
    units: NDArray[np.int64],
    out: NDArray[np.int16],
) -> None:
    for unit in range(len(units)):
        evaluation.weights[:] = units[unit]
        for row in range(len(rows)):
            position = rules.load(rows[row], like)
            out[row, unit] = rules.evaluate(position, rules.to_move(position), evaluation)


def match(game: Game, new: Weights, best: Weights, config: Config, seed: int) -> Interval:
    """Play a match; return the score of the new weights against the best ones."""
    with temporary_players(
        new=lambda _: _player(game, new, config), best=lambda _: _player(game, best, config)
    ):
        tournament = arena.hold(
            ("new", "best"),
            game.name,
            options=game.options,
            games=config.matches,
            opening_turns=config.opening_turns,
            seed=seed,
        )
    return tournament.standings.pair("new", "best").line.score


def _player(game: Game, weights: Weights, config: Config) -> MinimaxPlayer:
    """Return a minimax player with these weights."""
    return MinimaxPlayer(
        game, depth=config.depth, evaluation=_with(game, weights), table_megabytes=1
    )


def _with(game: Game, weights: Weights) -> Any:
    """Return the game's first evaluation with these weights."""
    return _evaluation(game)._replace(weights=weights)


def _evaluation(game: Game) -> Any:
    """Return the game's first evaluation; raise BadOption if it has no weights."""
    evaluation = game.evaluation()
    if not hasattr(evaluation, "weights"):
        raise BadOption(f"{game.name} has no evaluation with weights to tune")
    return evaluation


def _mirrored(rows: NDArray[np.uint64], symmetry: Any, game: Game) -> NDArray[np.uint64]:
    return np.array([symmetry(type(game.initial)(*row)) for row in rows], np.uint64)


@app.command()
def main(
    game: GameName = "capture_conquer",
    size: Size = None,
    option: GameOptions = None,
    rounds: Annotated[int, typer.Option(help="Rounds of self-play and fitting.")] = Config.rounds,
    positions: Annotated[
        int, typer.Option(help="Decisions of self-play per round.")
    ] = Config.positions,
    matches: Annotated[int, typer.Option(help="Games against the best weights.")] = Config.matches,
    depth: Annotated[int, typer.Option(help="Search depth in turns.")] = Config.depth,
    seed: Annotated[int, typer.Option(help="Seed of all random choices.")] = 0,
) -> None:
    """Tune the weights of a game's evaluation; print each round and the best weights."""
    made = make_game(game, **game_options(option, size))
    config = Config(rounds=rounds, positions=positions, matches=matches, depth=depth, seed=seed)
    best = _evaluation(made).weights
    for number, judged in enumerate(tune(made, config), 1):
        verdict = "adopted" if judged.adopted else "dropped"
        against = (
            f"{percent(judged.score.value)} ({interval(judged.score)}) against the best so far"
        )
        console.print(f"round {number}: loss {judged.loss:.4f}; {against}: {verdict}")
        best = judged.weights if judged.adopted else best
    for begin in range(0, len(best), 8):
        console.print(", ".join(map(str, best[begin : begin + 8])) + ",")


if __name__ == "__main__":
    sys.exit(run(app))
