"""verifiers: tasks in words, with their judge as the reward.

Run        cd examples/language_models; eval cc-env-tasks --env.taskset.game checkers
Tested     verifiers 0.4.0
"""

from collections.abc import Iterator

import verifiers.v1 as vf

import cc_env
from cc_env import tasks

__all__ = ["CcEnvTaskset"]


class CcEnvData(vf.TaskData):
    """The task as JSON."""

    line: str


class CcEnvTask(vf.Task[CcEnvData, vf.State, vf.TaskConfig]):
    """A task of cc_env."""

    @vf.reward
    async def solved(self, trace: vf.Trace) -> float:
        return tasks.grade(tasks.Task.from_json(self.data.line), trace.last_reply)


class CcEnvConfig(vf.TasksetConfig):
    """The arguments of `make_tasks`, and the split."""

    game: str = "capture_conquer"
    kind: str = "puzzle"
    count: int = 200
    split: str = "train"


class CcEnvTaskset(vf.Taskset[CcEnvTask, CcEnvConfig]):
    """The tasks of a game and a kind."""

    def load(self) -> Iterator[CcEnvTask]:
        game = cc_env.make_game(self.config.game)
        for task in tasks.make_tasks(game, self.config.kind, self.config.count):
            if task.split == self.config.split:
                data = CcEnvData(prompt=task.prompt, line=task.to_json())
                yield CcEnvTask(data, self.config.task)
