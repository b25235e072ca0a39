"""verifiers: games against an opponent, which plays the part of the user.

Run        cd examples/language_models; eval cc-env-games --env.taskset.game checkers
Tested     verifiers 0.4.0
"""

from collections.abc import Iterator
from itertools import count

import verifiers.v1 as vf

from cc_env.envs.text import TextGameEnv

__all__ = ["GameEnv", "GameTaskset"]


class GameConfig(vf.TasksetConfig):
    """The game and its opponent, a player spec."""

    game: str = "capture_conquer"
    opponent: str = "random"

    def make(self) -> TextGameEnv:
        """Return the environment; a model has three replies for a legal turn."""
        return TextGameEnv(self.game, opponent=self.opponent, tries=3)


class GameTaskset(vf.Taskset[vf.Task, GameConfig]):
    """Games; the seed of each is its index."""

    INFINITE = True

    def load(self) -> Iterator[vf.Task]:
        env = self.config.make()
        for seed in count():
            prompt = f"{env.rules}\n\n{env.reset(seed=seed)[0]}"
            yield vf.Task(vf.TaskData(prompt=prompt), self.config.task)


class GameEnv(vf.SingleAgentEnv):
    """Plays a game; its result is the reward."""

    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        env, reward, is_over = self.taskset.config.make(), 0.0, False
        env.reset(seed=task.data.idx)
        async with agents.agent.interaction(task) as interaction:
            segment = await interaction.turn()
            while not (segment.terminated or is_over):
                observation, reward, *ends, _ = env.step(segment.last_reply)
                if not (is_over := any(ends)):
                    segment = await interaction.turn(observation)
        interaction.trace.record_reward("result", float(reward), 1.0)
