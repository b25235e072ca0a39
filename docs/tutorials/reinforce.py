"""python -m training.reinforce: REINFORCE with self-play, a way to train in one file.

Williams, "Simple statistical gradient-following algorithms for connectionist reinforcement
learning", 1992. In each round the network plays a game against itself on each board. Then a
gradient step makes the decisions of winners more probable and those of losers less; the result that
the network itself expects is the baseline.

Shapes: T decisions in the longest game, N boards, M decisions in all games; A actions; C planes,
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

from agents.network import Evaluator, Network, Size, device_of, save
from agents.network_players import PolicyPlayer
from agents.shipped_weights import NETWORK
from cc_env.cli.application import run as run_command
from cc_env.core.game import Game
from cc_env.core.rules import ONGOING
from cc_env.envs.boards import Autoreset, Boards
from training.runs import command_line, state, training_run
from training.runs.config import check_between, check_wholes
from training.runs.log import Row
from training.selfplay import promotion
from training.selfplay.promotion import Rivals, meet

MAY_DIFFER = "minutes", "rounds", "device"  # when a run is continued


@dataclass(frozen=True, kw_only=True)
class Config(training_run.Config):
    """The settings of a run; `runs.Config` has those of every run."""

    rounds: int | None = None  # limit of rounds; None: no limit
    network: Size = field(default_factory=lambda: Size(blocks=2, channels=32, keys=8))
    boards: int = 256  # games in a round
    max_turns: int = 60  # longer games are drawn
    learning_rate: float = 1e-3  # of Adam
    entropy: float = 0.1  # weight of the entropy bonus
    evaluate_every: int = 25  # rounds between evaluations
    rivals: Rivals = field(default_factory=Rivals)

    def __post_init__(self) -> None:
        """Check the fields, and fill in the options of the game."""
        super().__post_init__()
        check_wholes(self, boards=1, max_turns=1, evaluate_every=1)
        check_between(self, 0, 1, "learning_rate", "entropy")


# part: main
def main(config: Config, path: Path, resume: bool = False) -> Row:
    """Train in a folder; return the last row of the log.

    Raises as `runs.opened` and `runs.Run.steps`.
    """
    torch.set_num_threads(1)
    torch.manual_seed(config.seed)
    game = config.make_game()
    network = Network(game, config.network).to(device_of(config.device))
    optimizer = torch.optim.Adam(network.parameters(), config.learning_rate)
    parts: dict[str, Any] = {"network": network, "optimizer": optimizer}
    charts = {
        **promotion.charts(game, config.rivals),
        "value loss": ["value_loss"],
        "entropy of the policy": ["entropy"],
    }
    with training_run.opened(path, asdict(config), resume, MAY_DIFFER) as run:
        run.restore(lambda saved: state.load(saved.arrays, **parts))
        for _ in run.steps(
            lambda: (state.flat(**parts), {}), config.evaluate_every, charts, status
        ):
            torch.manual_seed(*run.seeds(1))
            numbers = learn(play(game, network, config), network, optimizer, config.entropy)
            run.advance()
            if run.is_due:
                numbers |= evaluate(game, network, config, run)
            run.log(numbers)
    return run.rows[-1]


def status(newest: Mapping[str, float]) -> str:
    """Return the state of training in a few words."""
    elo = f", Elo {newest['elo']:+.0f}" if "elo" in newest else ""
    return f"round {newest['step']}, entropy {newest['entropy']:.2f}{elo}"


# part: play
class Decisions(NamedTuple):
    """All decisions of a round's games."""

    planes: NDArray[np.int8]  # [M, C, H, W]
    legal: NDArray[np.bool_]  # [M, A]
    actions: NDArray[np.int64]  # [M]
    results: NDArray[np.float32]  # [M]: of the game, for who decided: 1 win, 0 draw, -1 loss


def play(game: Game, network: Network, config: Config) -> Decisions:
    """Play a game on each board; return its decisions."""
    boards = Boards(
        game,
        config.boards,
        max_turns=config.max_turns,
        repetitions=3,
        autoreset=Autoreset.SAME_STEP,
    )
    boards.reset()
    is_first, winners = np.ones(boards.count, np.bool_), np.full(boards.count, ONGOING)
    rows = []
    while is_first.any():  # where the first game is over, others follow, which are not kept
        planes, legal = boards.observations.copy(), boards.masks.astype(np.bool_)
        with torch.no_grad():
            log_policy, _ = predict(network, planes, legal)
        actions = torch.multinomial(log_policy.exp(), 1)[:, 0].cpu().numpy()
        rows.append((planes, legal, actions, boards.to_move.copy(), is_first.copy()))
        boards.step(actions)
        ends = is_first & (boards.terminated | boards.truncated)
        winners[ends] = boards.outcomes[ends]
        is_first &= ~ends
    planes, legal, actions, movers, kept = map(np.array, zip(*rows, strict=True))  # [T, N, …]
    results = np.where(movers == winners, 1, -1) * np.isin(winners, (0, 1))
    return Decisions(planes[kept], legal[kept], actions[kept], results[kept].astype(np.float32))


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
    """Take a gradient step, with this weight of the entropy; return the numbers to log."""
    log_policy, values = predict(network, decisions.planes, decisions.legal)
    actions, results = (torch.from_numpy(array).to(values.device) for array in decisions[2:])
    chosen = log_policy.gather(1, actions[:, None])[:, 0]
    policy_loss = -((results - values.detach()) * chosen).mean()
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
    """Play the rivals; save the network if its Elo is the highest so far."""
    player = PolicyPlayer(game, Evaluator(network), mirrored=False)
    scores = meet(game, player, None, config.rivals, run.step)
    if scores["elo"] >= max((row.get("elo", -math.inf) for row in run.rows), default=-math.inf):
        about = {"trained": "reinforce", "config": asdict(config), "round": run.step}
        save(run.path / NETWORK, network, game, about)
    return scores


# part: command
app = command_line.command(
    "reinforce",
    main,
    Config,
    "Train a policy by REINFORCE with self-play, by default for 30 minutes.",
    {"rounds": "Number of rounds.", "network.channels": "Channels of the network."},
)

if __name__ == "__main__":
    sys.exit(run_command(app))
