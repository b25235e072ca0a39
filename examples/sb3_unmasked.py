"""Stable-Baselines3: PPO and DQN without masks; the environment handles illegal actions.

Run        python -m examples.sb3_unmasked --size 4 --steps 300000
           python -m examples.sb3_unmasked --size 4 --steps 300000 --algorithm dqn
Reached    78.5 % (0.0 % untrained) by PPO in 53 s of CPU time;
           89.0 % (0.0 %) by DQN, 55 s;
           on 6×6, with 410 actions, neither learns anything in 300,000 steps: 0.0 %

With `illegal="lose"` an illegal action loses the game, so that nearly all games are lost at first;
with `illegal="random"` a random legal action is played instead. With masks, as in `sb3_masked.py`,
learning takes a small part of the steps.
"""

import argparse
from typing import Any

from stable_baselines3 import DQN, PPO

from cc_env.envs.sb3 import OpponentVecEnv
from cc_env.envs.scoring import score


def points(model: PPO | DQN, game: str, options: dict[str, Any]) -> float:
    """Return the mean points against random play; an illegal action loses."""
    return score(
        lambda observations, _: model.predict(observations, deterministic=True)[0],
        game,
        illegal="lose",
        **options,
    ).value


def main(
    game: str = "capture_conquer",
    size: int | None = None,
    steps: int = 300_000,
    algorithm: str = "ppo",
    seed: int = 1,
) -> tuple[float, float]:
    """Train; return the points against random play before and after."""
    options: dict[str, Any] = {} if size is None else {"size": size}
    env = OpponentVecEnv(game, 32, illegal="lose", **options)
    named: dict[str, Any] = {"gamma": 0.97, "learning_rate": 1e-3, "seed": seed}
    model: PPO | DQN
    if algorithm == "ppo":
        model = PPO("MlpPolicy", env, n_steps=64, batch_size=256, ent_coef=0.01, **named)
    else:
        model = DQN("MlpPolicy", env, train_freq=1, gradient_steps=4, learning_starts=1000, **named)
    before = points(model, game, options)
    model.learn(steps)
    return before, points(model, game, options)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--game", default="capture_conquer", help="Name of the game.")
    parser.add_argument("--size", type=int, help="Size of the board in C&C, 4 to 8.")
    parser.add_argument("--steps", type=int, default=300_000, help="Steps of the learner.")
    parser.add_argument("--algorithm", choices=["ppo", "dqn"], default="ppo")
    print(main(**vars(parser.parse_args())))
