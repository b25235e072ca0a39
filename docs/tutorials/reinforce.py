"""python -m training.reinforce: REINFORCE with self-play, an algorithm in one file.

Williams, "Simple statistical gradient-following algorithms for connectionist reinforcement
learning", 1992. In each round the network plays a game against itself on each board. Then a
gradient step makes the decisions of winners more probable and those of losers less; the baseline
is the value of the network.

Shapes: T decisions of the longest game, N boards, M decisions of all games, A actions; C planes,
H rows and W columns of an observation.
"""

# part: settings
import math
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agents.evaluator import Evaluator
from agents.network import Network, save, select_device
from agents.network_players import PolicyPlayer
from agents.network_weights import Size
from agents.shipped_weights import NETWORK
from cc_env.cli.application import run as run_command
from cc_env.core.game import Game
from cc_env.core.rules import ONGOING
from cc_env.envs.boards import Autoreset, Boards
from cc_env.match.match import effective_repetition_limit
from training.runs import checked, command_line, state, training_run
from training.runs.log import Row
from training.selfplay.training import (
    EvaluationOpponents,
    evaluation_charts,
    score_against,
)


@dataclass(frozen=True, kw_only=True)
class Config(training_run.Config):
    """The settings of a run, besides those of every run."""

    # Maximum number of rounds; None: no limit.
    rounds: int | None = None
    network: Size = field(default_factory=lambda: Size(blocks=2, channels=32, keys=8))
    # Games per round.
    boards: checked.Count = 256
    # Games begin after 0 to this number of random turns.
    max_opening_turns: checked.OpeningTurns = 6
    # Longer games are drawn.
    max_turns: checked.Count = 60
    # Learning rate of Adam.
    learning_rate: checked.Fraction = 2e-3
    # Weight of the entropy bonus.
    entropy: checked.Fraction = 0.3
    # Rounds between evaluations.
    evaluate_every: checked.Count = 25
    evaluation_opponents: EvaluationOpponents = field(default_factory=EvaluationOpponents)


# part: main
def main(config: Config, path: Path, resume: bool = False) -> Row:
    """Train in a folder; return the last row of the log.

    Raises as `open_run` and `Run.steps`.
    """
    torch.set_num_threads(1)
    torch.manual_seed(config.seed)
    game = config.make_game()
    network = Network(game, config.network).to(select_device(config.device))
    optimizer = torch.optim.Adam(network.parameters(), config.learning_rate)
    parts: dict[str, Any] = {"network": network, "optimizer": optimizer}
    charts = {
        **evaluation_charts(game, config.evaluation_opponents),
        "value loss": ["value_loss"],
        "entropy of the policy": ["entropy"],
    }
    with training_run.open_run(path, asdict(config), resume) as run:
        run.restore(lambda checkpoint: state.load(checkpoint.arrays, **parts))
        for _ in run.steps(
            lambda: (state.to_arrays(**parts), {}), config.evaluate_every, charts, status
        ):
            action_seed, opening_seed = run.seeds(2)
            torch.manual_seed(action_seed)
            decisions = play(game, network, config, opening_seed)
            metrics = learn(decisions, network, optimizer, config.entropy)
            run.advance()
            if run.evaluation_due:
                metrics |= evaluate(game, network, config, run)
            run.log(metrics)
    return run.rows[-1]


def status(newest: Mapping[str, float]) -> str:
    """Return the status for the progress bar."""
    return f"round {newest['step']}, entropy {newest['entropy']:.2f}"


# part: play
class Decisions(NamedTuple):
    """All decisions of a round's games, with results for the deciding player: 1, 0 or -1."""

    planes: NDArray[np.int8]  # [M, C, H, W]
    legal: NDArray[np.bool_]  # [M, A]
    actions: NDArray[np.int64]  # [M]
    results: NDArray[np.float32]  # [M]


def play(game: Game, network: Network, config: Config, seed: int) -> Decisions:
    """Play a game on each board, with openings of this seed; return its decisions."""
    boards = Boards(
        game,
        config.boards,
        max_turns=config.max_turns,
        repetitions=effective_repetition_limit(game, 3),
        autoreset=Autoreset.SAME_STEP,
        max_opening_turns=config.max_opening_turns,
    )
    boards.reset(streams=boards.streams(seed))
    is_first, winners = np.ones(boards.count, np.bool_), np.full(boards.count, ONGOING)
    rows = []
    # A board continues with further games, which are ignored, until all first games are finished.
    while is_first.any():
        planes, legal = boards.observations.copy(), boards.masks.astype(np.bool_)
        with torch.no_grad():
            log_policy, _ = predict(network, planes, legal)
        actions = torch.multinomial(log_policy.exp(), 1)[:, 0].cpu().numpy()
        rows.append((planes, legal, actions, boards.to_move.copy(), is_first.copy()))
        boards.step(actions)
        ends = is_first & (boards.terminated | boards.truncated)
        winners[ends] = boards.outcomes[ends]
        is_first &= ~ends
    # Arrays [T, N, …].
    planes, legal, actions, movers, mask = map(np.array, zip(*rows, strict=True))
    results = np.where(movers == winners, 1, -1) * np.isin(winners, (0, 1))
    return Decisions(planes[mask], legal[mask], actions[mask], results[mask].astype(np.float32))


# part: learn
def predict(
    network: Network, planes: NDArray[np.int8], legal: NDArray[np.bool_]
) -> tuple[Tensor, Tensor]:
    """Return log-probabilities float32[M, A], -inf if illegal, and values float32[M]."""
    device = next(network.parameters()).device
    logits, values = network(torch.from_numpy(planes).to(device).float())
    illegal = torch.from_numpy(~legal).to(device)
    return logits.masked_fill(illegal, -torch.inf).log_softmax(1), values


def learn(
    decisions: Decisions, network: Network, optimizer: torch.optim.Optimizer, weight: float
) -> dict[str, float]:
    """Take a gradient step with this weight of the entropy; return the metrics."""
    log_policy, values = predict(network, decisions.planes, decisions.legal)
    actions, results = (torch.from_numpy(array).to(values.device) for array in decisions[2:])
    log_probabilities = log_policy.gather(1, actions[:, None])[:, 0]
    policy_loss = -((results - values.detach()) * log_probabilities).mean()
    value_loss = (results - values).square().mean()
    entropy = -(log_policy.exp() * log_policy.masked_fill(log_policy.isinf(), 0)).sum(1).mean()
    optimizer.zero_grad()
    (policy_loss + value_loss - weight * entropy).backward()
    optimizer.step()
    state.check_finite(network)
    return {"value_loss": value_loss.item(), "entropy": entropy.item(), "decisions": len(results)}


# part: evaluate
def evaluate(
    game: Game, network: Network, config: Config, run: training_run.Run
) -> dict[str, float]:
    """Play the evaluation opponents; save the network if its Elo is the highest so far."""
    player = PolicyPlayer(game, Evaluator(network), mirrored=False)
    scores = score_against(game, player, None, config.evaluation_opponents, run.step)
    if scores["elo"] >= max((row.get("elo", -math.inf) for row in run.rows), default=-math.inf):
        about = {"trained": "reinforce", "config": asdict(config), "round": run.step}
        save(run.path / NETWORK, network, game, about)
    return scores


# part: command
app = command_line.training_command(
    "reinforce",
    main,
    Config,
    "Train a policy by REINFORCE with self-play, by default for 30 minutes.",
    {"rounds": "Number of rounds.", "network.channels": "Channels of the network."},
)

if __name__ == "__main__":
    sys.exit(run_command(app))
