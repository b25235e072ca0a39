"""cc_env tune: fit the weights of an evaluation to self-play (Texel tuning).

In each round the best weights so far play games against themselves, with a fraction of random
decisions. The results are fitted by logistic regression on the features of the positions. The new
weights then play a match against the best ones, which they replace if they score above 50 %. This
works for every evaluation that is linear in an array field `weights`, such as that of C&C.

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
from cc_env.core.game import Game
from cc_env.errors import BadOption
from cc_env.games.factory import make_game
from cc_env.match.confidence import Interval
from cc_env.output import Terminal
from cc_env.players.builtin import MinimaxPlayer
from cc_env.search.scores import SCALE
from cc_env.search.workspace import MAX_DEPTH
from training import arena
from training.arena.wording import interval, percent
from training.parallel.tasks import run_tasks, task_mapper
from training.runs import checked
from training.selfplay import search_games
from training.selfplay.search_games import PlaySettings

Weights = NDArray[np.int64]

app = create_app()
console = Terminal()


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of tuning."""

    rounds: checked.Count = 6
    # Self-play decisions per round.
    positions: Annotated[int, checked.integers(1000)] = 100_000
    # Games in the match between the new and the best weights.
    games: Annotated[int, checked.integers(2)] = 400
    # Search depth in self-play and the match, in turns.
    depth: Annotated[int, checked.integers(1, MAX_DEPTH)] = 3
    # Self-play begins after 0 to `max_opening_turns` random turns, games of the match after exactly
    # as many.
    max_opening_turns: Annotated[int, checked.integers(0, search_games.MAX_TURNS)] = 6
    # Fraction of random decisions after the opening.
    exploration: checked.Fraction = 0.05
    # Number of latest rounds to fit.
    remembered: checked.Count = 4
    # L2 regularization of the weights.
    penalty: checked.Fraction = 2e-5
    seed: checked.Natural = 0
    # Number of processes; None: one per core, 0: this process.
    workers: int | None = None

    def __post_init__(self) -> None:
        """Raise BadOption if a value is out of range."""
        checked.check_fields(self)


class Sample(NamedTuple):
    """Self-play positions, and the results of their games for the player to move, 0 to 1."""

    positions: NDArray[np.uint64]  # [N, F]
    results: NDArray[np.float32]  # [N]


class Round(NamedTuple):
    """The result of a round: the loss of the fit, and the score of the new weights.

    `best` are the best weights after the round: the new ones if `is_adopted`.
    """

    loss: float
    score: Interval
    is_adopted: bool
    best: Weights  # [K]


def tune(game: Game, config: Config) -> Iterator[Round]:
    """Play, fit new weights and test them in each round; yield each round.

    Raises BadOption if the game's evaluation has no weights.
    """
    best = np.array(_evaluation(game).weights)
    samples: list[Sample] = []
    for round_index in range(config.rounds):
        samples = [*samples, play_games(game, best, config, round_index)][-config.remembered :]
        pooled = Sample(*map(np.concatenate, zip(*samples, strict=True)))
        weights, loss = fit(game, pooled, config.penalty)
        score = play_match(game, weights, best, config, seed=round_index)
        is_adopted = score.value > 0.5
        if is_adopted:
            best = weights
        yield Round(loss, score, is_adopted, best)


def play_games(game: Game, weights: Weights, config: Config, round_index: int) -> Sample:
    """Return positions of games that the search with these weights played against itself."""
    settings = search_games.play_settings(
        config.depth, config.max_opening_turns, config.exploration
    )
    count, size = search_games.split_work(config.positions)
    work = partial(_play_turns, game, _evaluation_with_weights(game, weights), settings, size)
    seeds = np.random.SeedSequence((config.seed, round_index)).generate_state(count).tolist()
    samples = run_tasks(task_mapper("processes", config.workers), work, seeds)
    return Sample(*map(np.concatenate, zip(*samples, strict=True)))


def _play_turns(
    game: Game, evaluation: Any, settings: PlaySettings, count: int, seed: int
) -> Sample:
    """Play games in a worker; return the positions at the start of turns, and their results."""
    games = search_games.play(game, evaluation, settings, 1, count, seed)
    return Sample(games.positions[games.turn_starts], games.results[games.turn_starts])


def fit(game: Game, sample: Sample, penalty: float) -> tuple[Weights, float]:
    """Return the rounded weights int64[K] with the least loss, and the loss before the rounding.

    The loss is the mean logistic loss plus `penalty` times the sum of squared weights. The
    symmetric images of the positions are fitted, too. Weights are scaled so that
    `cc_env.search.scores.expected_result` predicts the mean result. Weights whose features are 0 in
    the whole sample, such as those for positions within a turn, keep the game's values.
    """
    images = [
        np.array(
            [symmetry.position(game.make_position(row)) for row in sample.positions], np.uint64
        )
        for symmetry in game.symmetries
    ]
    results = np.tile(sample.results, 1 + len(images))
    counts = features(game, np.concatenate([sample.positions, *images])).astype(np.float64)
    used = np.flatnonzero(counts.any(0))
    counts = counts[:, used]

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the mean loss with the penalty, and its gradient."""
        logits = counts @ weights
        errors = 1 / (1 + np.exp(-logits)) - results
        value = np.logaddexp(0, logits) - results * logits
        gradient = counts.T @ errors / len(counts) + 2 * penalty * weights
        return float(value.mean() + penalty * (weights @ weights)), gradient

    solution = minimize(loss, np.zeros(len(used)), jac=True, method="L-BFGS-B")
    weights = np.array(_evaluation(game).weights)
    weights[used] = np.round(solution.x * SCALE / 2)
    return weights, float(solution.fun)


def features(game: Game, positions: NDArray[np.uint64]) -> NDArray[np.int16]:
    """Return the features int16[N, K] of positions uint64[N, F]: the factor of each weight."""
    units = np.eye(len(_evaluation(game).weights), dtype=np.int64)
    scores = [
        search_games.evaluate_positions(game, _evaluation_with_weights(game, unit), positions)
        for unit in units
    ]
    return np.stack(scores, 1).astype(np.int16)


def play_match(game: Game, new: Weights, best: Weights, config: Config, seed: int) -> Interval:
    """Play a match; return the score of the new weights against the best ones."""
    tournament = arena.play_tournament(
        {"new": _make_player(game, new, config), "best": _make_player(game, best, config)},
        game.name,
        options=game.options,
        games=config.games,
        opening_turns=config.max_opening_turns,
        seed=seed,
    )
    return tournament.standings.pair("new", "best").tally.score


def _make_player(game: Game, weights: Weights, config: Config) -> MinimaxPlayer:
    """Return a minimax player with these weights."""
    return MinimaxPlayer(
        game,
        depth=config.depth,
        evaluation=_evaluation_with_weights(game, weights),
        table_megabytes=1,
    )


def _evaluation_with_weights(game: Game, weights: Weights) -> Any:
    """Return the game's default evaluation with these weights."""
    return _evaluation(game)._replace(weights=weights)


def _evaluation(game: Game) -> Any:
    """Return the game's default evaluation; raise BadOption if it has no weights."""
    evaluation = game.evaluation()
    if not hasattr(evaluation, "weights"):
        raise BadOption(f"{game.name} has no evaluation with weights to tune")
    return evaluation


@app.command()
def main(
    game_name: GameName = "capture_conquer",
    size: Size = None,
    option: GameOptions = None,
    rounds: Annotated[int, typer.Option(help="Rounds of self-play and fitting.")] = Config.rounds,
    positions: Annotated[
        int, typer.Option(help="Decisions of self-play per round.")
    ] = Config.positions,
    games: Annotated[int, typer.Option(help="Games against the best weights.")] = Config.games,
    depth: Annotated[int, typer.Option(help="Search depth in turns.")] = Config.depth,
    seed: Annotated[int, typer.Option(help="Seed of all random choices.")] = 0,
) -> None:
    """Tune the weights of a game's evaluation; print each round and the best weights."""
    game = make_game(game_name, **game_options(option, size, game_name))
    config = Config(rounds=rounds, positions=positions, games=games, depth=depth, seed=seed)
    for number, result in enumerate(tune(game, config), 1):
        decision = "adopted" if result.is_adopted else "rejected"
        against = (
            f"{percent(result.score.value)} ({interval(result.score)}) against the best weights"
        )
        console.print(f"round {number}: loss {result.loss:.4f}; {against}: {decision}")
    for begin in range(0, len(result.best), 8):
        console.print(", ".join(map(str, result.best[begin : begin + 8])) + ",")


if __name__ == "__main__":
    sys.exit(run(app))
