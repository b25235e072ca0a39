"""Self-play with `opponent=None`: one network decides for both players, and PPO trains it.

Shapes: T steps of a rollout, N boards, A actions; C planes, H rows and W columns of an observation.
"""

import argparse

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from torch import Tensor, nn
from torch.distributions import Categorical

from cc_env.envs import score

BOARDS, STEPS, EPOCHS, BATCH = 128, 32, 4, 1024
GAMMA, LAMBDA, CLIP, ENTROPY, LEARNING_RATE = 0.99, 0.9, 0.2, 0.02, 1e-3


class ActorCritic(nn.Module):
    """Policy and value of a position for the player to move."""

    def __init__(self, envs: VectorEnv) -> None:
        super().__init__()
        inputs = int(np.prod(envs.single_observation_space.shape))
        self.body = nn.Sequential(
            nn.Flatten(), nn.Linear(inputs, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU()
        )
        self.policy = nn.Linear(256, int(envs.single_action_space.n))
        self.value = nn.Linear(256, 1)

    def forward(self, planes: np.ndarray | Tensor, masks: np.ndarray | Tensor):
        """Return the distribution of legal actions, and values float32[N]."""
        features = self.body(torch.as_tensor(planes).float())
        legal = torch.as_tensor(masks).bool()
        logits = self.policy(features).masked_fill(~legal, -1e8)
        return Categorical(logits=logits, validate_args=False), self.value(features)[:, 0]


def advantages(rewards, values, next_values, dones, signs):
    """Return the advantage of each decision for the player who made it; all float32[T, N].

    A reward is that of the player who decided. A sign is +1 if the same player decides next, -1 if
    the other one does: the value and the advantage of the next decision are those of its player.
    """
    result = np.zeros_like(rewards)
    following = np.zeros(rewards.shape[1], np.float32)
    for t in reversed(range(len(rewards))):
        running = (1 - dones[t]) * signs[t]
        delta = rewards[t] + GAMMA * running * next_values[t] - values[t]
        following = delta + GAMMA * LAMBDA * running * following
        result[t] = following
    return result


def collect(envs, network, planes, infos):
    """Play STEPS decisions on each board; return them, and the next observations and infos."""
    steps = []
    for _ in range(STEPS):
        masks, movers = infos["action_mask"], infos["to_move"]
        with torch.no_grad():
            distribution, values = network(planes, masks)
            actions = distribution.sample()
            logs = distribution.log_prob(actions)
        before = planes, masks, actions.numpy(), logs.numpy(), values.numpy()
        planes, rewards, terminated, truncated, infos = envs.step(actions.numpy())
        signs = np.where(infos["to_move"] == movers, 1.0, -1.0)
        done = terminated | truncated
        steps.append((*before, rewards, done, signs))
    with torch.no_grad():
        last_values = network(planes, infos["action_mask"])[1].numpy()
    planes_, masks, actions, logs, values, rewards, dones, signs = map(
        np.stack, zip(*steps, strict=True)
    )
    next_values = np.append(values[1:], last_values[None], 0)
    rewards, dones, signs = (part.astype(np.float32) for part in (rewards, dones, signs))
    gains = advantages(rewards, values, next_values, dones, signs)
    columns = planes_, masks, actions, logs, gains, gains + values
    return [column.reshape(-1, *column.shape[2:]) for column in columns], planes, infos


def learn(network, optimizer, columns):
    """Take gradient steps of PPO on a rollout."""
    planes, masks, actions, logs, gains, returns = map(torch.as_tensor, columns)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(actions)).split(BATCH):
            distribution, values = network(planes[rows], masks[rows])
            ratio = (distribution.log_prob(actions[rows]) - logs[rows]).exp()
            gain = (gains[rows] - gains[rows].mean()) / (gains[rows].std() + 1e-8)
            clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
            policy_loss = -torch.min(ratio * gain, clipped * gain).mean()
            value_loss = (values - returns[rows]).pow(2).mean()
            loss = policy_loss + 0.5 * value_loss - ENTROPY * distribution.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 0.5)
            optimizer.step()


def train(size: int = 4, rollouts: int = 50, seed: int = 0) -> ActorCritic:
    """Train a network by self-play on C&C; print its score against random play at intervals."""
    torch.manual_seed(seed)
    envs = gymnasium.make_vec(
        "cc_env/CaptureConquer-v0",
        BOARDS,
        size=size,
        opponent=None,
        max_opening_turns=4,
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    network = ActorCritic(envs)
    optimizer = torch.optim.Adam(network.parameters(), LEARNING_RATE)
    planes, infos = envs.reset(seed=seed)
    for number in range(1, rollouts + 1):
        columns, planes, infos = collect(envs, network, planes, infos)
        learn(network, optimizer, columns)
        if number % 25 == 0:
            result = score(player(network), "capture_conquer", size=size)
            print(f"{number * BOARDS * STEPS:,} decisions: {result}")
    return network


def player(network):
    """Return the policy that takes the most probable action."""

    def choose(planes, masks):
        with torch.no_grad():
            return network(planes, masks)[0].logits.argmax(1).numpy()

    return choose


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=4)
    parser.add_argument("--rollouts", type=int, default=50)
    torch.set_num_threads(1)
    arguments = parser.parse_args()
    train(arguments.size, arguments.rollouts)
