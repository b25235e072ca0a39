"""python -m training.dqn: a deep Q-network whose illegal actions are masked.

Mnih et al., "Human-level control through deep reinforcement learning", 2015, by Stable-Baselines3.
The Q-values are those of a dueling network (Wang et al., 2016), the network of `agents`: its value
head is the value of the position, its policy head the advantages of the actions. Illegal actions
have a large negative Q-value, in the choice of actions and in the targets. Targets span
`target_span` decisions, by default one (Sutton and Barto, "Reinforcement learning: an
introduction", 2018, section 7.1).

The learner plays both seats on many boards; the opponent of a game is drawn from player specs.
At intervals the greedy policy plays the evaluation opponents and the best network so far in the
arena. If its score against the best network is at least `gate`, it becomes `best.safetensors`.

The same seed gives the same run on the same machine if it is limited by steps, not minutes, and is
not resumed. A resumed run starts new games with an empty replay buffer.

Shapes: B positions, A actions; C planes, H rows and W columns of an observation.
"""

import copy
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3 import DQN
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.vec_env import VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn
from stable_baselines3.dqn.policies import DQNPolicy
from torch import Tensor, nn
from torch.optim import Optimizer

from agents.network import Network, select_device
from agents.network_weights import Size
from cc_env.cli.application import run as run_command
from cc_env.core.game import Game
from cc_env.envs.sb3 import OpponentVecEnv
from cc_env.errors import BadOption, check_integer
from training.arena import make_players
from training.runs import checked, command_line, state
from training.runs.checkpoints import Checkpoint
from training.runs.training_run import Run, State
from training.selfplay.selfplay_env import SelfPlayEnv
from training.selfplay.training import BEST, BaseConfig, BaseTraining, train

# Q-value of illegal actions; returns are between -1 and 1.
ILLEGAL_VALUE = -1e8
# Rollouts between log lines of DQN.
LOG_INTERVAL = 1 << 30
MAX_TARGET_SPAN = 1000


@dataclass(frozen=True, kw_only=True)
class Config(BaseConfig):
    """The settings of a run."""

    # Maximum number of the learner's decisions; None: no limit.
    steps: int | None = None
    network: Size = field(default_factory=lambda: Size(blocks=2, channels=32, keys=16))
    # Player specs of the opponents, each with the same share of the games.
    opponents: checked.PlayerSpecs = (
        "random",
        "minimax:depth=1",
        "minimax:depth=2",
        "minimax:depth=3",
    )
    # Games start after 0 to `max_opening_turns` random turns.
    max_opening_turns: checked.OpeningTurns = 6
    boards: checked.Boards = 256
    # Decisions per board between logged steps, each followed by one gradient step.
    n_steps: checked.Count = 32
    batch_size: checked.BatchSize = 512
    # Capacity of the replay buffer, and its least content for gradient steps, in decisions.
    replay: int = 200_000
    warm_up: checked.Count = 10_000
    # Linear schedule.
    learning_rate: checked.Fraction = 1e-3
    last_learning_rate: checked.Fraction = 1e-4
    # Discount from one decision of the learner to the next.
    gamma: checked.Fraction = 0.99
    # Decisions of the learner that a target spans.
    target_span: Annotated[int, checked.integers(1, MAX_TARGET_SPAN)] = 1
    # Decisions between updates of the target network.
    target_interval: checked.Count = 25_600
    # Share of random decisions: linear schedule over the fraction `exploration_share` of the run.
    exploration: checked.Fraction = 0.5
    last_exploration: checked.Fraction = 0.03
    exploration_share: checked.Fraction = 0.3
    evaluate_every: checked.Count = 500_000

    def __post_init__(self) -> None:
        """Raise BadOption if a field is invalid; fill in the options of the game."""
        super().__post_init__()
        if not self.opponents:
            raise BadOption("opponents=(); expected: at least one player spec")
        check_integer("replay", self.replay, self.boards, checked.MAX_SAMPLES)

    def check(self, resume: bool) -> None:
        """Raise BadOption if a player cannot be created."""
        super().check(resume)
        make_players(self.opponents, self.make_game())


class Training(BaseTraining[Config]):
    """A run in progress; its steps are decisions of the learner."""

    algorithm = "dqn"
    mirrored = False
    plays_while_learning = False

    def __init__(self, config: Config, run: Run) -> None:
        """Start a run, or resume it from its newest checkpoint.

        Raises BadCheckpoint if the checkpoint does not fit this run.
        """
        super().__init__(config, run)
        self.network = Network(self.game, config.network)
        self.env = make_env(self.game, config)
        self.dqn = MaskedDQN(
            _Policy,
            self.env,
            learning_rate=lambda _: self.run.interpolate(
                config.learning_rate, config.last_learning_rate
            ),
            buffer_size=config.replay,
            learning_starts=config.warm_up,
            batch_size=config.batch_size,
            gamma=config.gamma,
            train_freq=(1, "step"),
            n_steps=config.target_span,
            target_update_interval=config.target_interval,
            policy_kwargs={"network": self.network},
            device=select_device(config.device),
        )
        self.dqn.set_logger(Logger(None, []))
        run.restore(self.load)
        # A resumed run continues with other random numbers.
        exploration_seed, env_seed = run.seeds(2)
        np.random.seed(exploration_seed)
        self.env.seed(env_seed)

    def step(self) -> dict[str, float]:
        """Play and learn; return the metrics."""
        config = self.config
        start = time.perf_counter()
        exploration = self.run.interpolate(
            config.exploration, config.last_exploration, config.exploration_share
        )
        self.dqn.exploration_schedule = lambda _: exploration
        self.dqn.exploration_rate = exploration
        decisions = config.boards * config.n_steps
        self.dqn.learn(decisions, log_interval=LOG_INTERVAL, reset_num_timesteps=False)
        logged = self.dqn.logger.name_to_value
        losses = {"loss": float(logged["train/loss"])} if "train/loss" in logged else {}
        state.check_outputs(np.array([*losses.values()]))
        state.check_finite(self.network)
        points = [point for each in self.env.opponents for point in each.take_points()]
        elapsed = time.perf_counter() - start
        self.run.advance(decisions)
        return {
            "steps_per_second": decisions / elapsed,
            "exploration": exploration,
            "learning_rate": self.run.interpolate(config.learning_rate, config.last_learning_rate),
            **losses,
            **({"learning": float(np.mean(points))} if points else {}),
        }

    def evaluate(self) -> dict[str, float]:
        """Evaluate the network; promote it if it reaches `gate`. Return the scores."""
        return self.promote_if_better(self.network)

    def state(self) -> State:
        """Return the content of a checkpoint."""
        return state.to_arrays(**self.parts()), {}

    def load(self, checkpoint: Checkpoint) -> None:
        """Restore a checkpoint; raise BadCheckpoint if it does not fit this run."""
        if any(name.startswith(f"{BEST}.") for name in checkpoint.arrays):
            self.best = Network(self.game, self.config.network)
        state.load(checkpoint.arrays, **self.parts())

    def parts(self) -> Mapping[str, nn.Module | Optimizer]:
        """Return the networks and the optimizer by name."""
        best = {} if self.best is None else {BEST: self.best}
        optimizer = self.dqn.policy.optimizer
        target: Any = self.dqn.q_net_target.network
        return {"network": self.network, "target": target, "optimizer": optimizer, **best}

    def charts(self) -> dict[str, list[str]]:
        """Return the algorithm's charts in curves.png: columns of the log by title."""
        return {
            "score while learning": ["learning"],
            "loss": ["loss"],
            "steps per second": ["steps_per_second"],
            "share of random decisions": ["exploration"],
        }

    def status(self, newest: Mapping[str, float]) -> str:
        """Return the status for the progress bar."""
        return f"{newest['step']:,} steps, {newest['steps_per_second']:,.0f}/s"


def make_env(game: Game, config: Config) -> "MaskedObservations":
    """Return the environment of a run; its games have the limits of the arena, which are draws."""
    env = SelfPlayEnv(
        game,
        config.boards,
        config.opponents,
        seed=config.seed,
        max_opening_turns=config.max_opening_turns,
    )
    return MaskedObservations(env)


class MaskedObservations(VecEnvWrapper):
    """Appends the mask of legal actions to each observation: int8[B, C * H * W + A].

    Replay buffers so store the masks, and n-step buffers accept the observations.
    """

    def __init__(self, venv: OpponentVecEnv) -> None:
        """Wrap the environment."""
        self._env = venv
        size = int(np.prod(venv.observation_space.shape or ())) + venv.game.num_actions
        super().__init__(venv, spaces.Box(-128, 127, (size,), np.int8))

    @property
    def opponents(self) -> list[Any]:
        """The opponents of the environment."""
        return self._env.opponents

    def reset(self) -> NDArray[np.int8]:
        """Begin a game on every board."""
        return self._append_masks(self._env.reset())

    def step_wait(self) -> VecEnvStepReturn:
        """Play the stored actions and the opponents' replies."""
        observations, rewards, dones, infos = self._env.step_wait()
        # No decision follows the end of a game.
        no_actions = np.zeros(self._env.game.num_actions, np.int8)
        for board in np.flatnonzero(dones):
            planes = infos[board]["terminal_observation"]
            infos[board]["terminal_observation"] = np.append(planes.ravel(), no_actions)
        return self._append_masks(observations), rewards, dones, infos

    def _append_masks(self, observations: Any) -> NDArray[np.int8]:
        planes = observations.reshape(len(observations), -1)
        return np.concatenate((planes, self._env.boards.masks), 1, dtype=np.int8)


class _QNetwork(BasePolicy):
    """A `Network` as the Q-network of DQN, on observations of `MaskedObservations`."""

    def __init__(self, network: Network, *spaces_: spaces.Space[Any]) -> None:
        super().__init__(*spaces_)
        self.network = network

    def forward(self, observations: Tensor) -> Tensor:
        """Return the Q-values float32[B, A]: value + advantage - mean advantage of legal actions.

        Illegal actions have ILLEGAL_VALUE.
        """
        count, size = len(observations), int(np.prod(self.network.observation_shape))
        planes = observations[:, :size].reshape(count, *self.network.observation_shape)
        legal = observations[:, size:].bool()
        advantages, values = self.network(planes.float())
        sums = advantages.where(legal, 0.0).sum(1, keepdim=True)
        means = sums / legal.sum(1, keepdim=True).clamp(min=1)
        q_values: Tensor = values[:, None] + advantages - means
        return q_values.where(legal, ILLEGAL_VALUE)

    def _predict(self, observation: Any, deterministic: bool = True) -> Tensor:
        return self.forward(observation).argmax(1)


class _Policy(DQNPolicy):
    """A policy of DQN with a `Network`, which it trains in place, and a copy as target network."""

    def __init__(self, *args: Any, network: Network, **kwargs: Any) -> None:
        # torch forbids module attributes before super().__init__, which calls `make_q_net` for the
        # network and then for the target network.
        self._pending_networks = [copy.deepcopy(network), network]
        super().__init__(*args, **kwargs)

    def make_q_net(self) -> Any:
        """Return a Q-network."""
        return _QNetwork(
            self._pending_networks.pop(), self.observation_space, self.action_space
        ).to(self.device)


class MaskedDQN(DQN):
    """DQN whose exploration samples legal actions, on observations of `MaskedObservations`."""

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return epsilon-greedy actions, int64[B], and the same for the replay buffer.

        Each board explores independently. `learning_starts` and `action_noise` are ignored.
        """
        observations: Any = self._last_obs
        actions, _ = self.policy.predict(observations, deterministic=True)
        masks = observations[:, -self.action_space.n :]  # type: ignore[attr-defined]
        random_actions = (masks * (1 - np.random.random(masks.shape))).argmax(1)
        is_random = np.random.random(len(actions)) < self.exploration_rate
        actions = np.where(is_random, random_actions, actions)
        return actions, actions


main = partial(train, Training)
app = command_line.training_command(
    "dqn",
    main,
    Config,
    "Train a Q-network by DQN with masked actions, by default for 30 minutes.",
    {
        "steps": "Number of decisions of the learner.",
        "network.blocks": "Residual blocks of the network.",
        "network.channels": "Channels of the network.",
    },
)


if __name__ == "__main__":
    sys.exit(run_command(app))
