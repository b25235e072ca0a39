"""The share of tasks that a player solves, by kind.

    answers = measure("llm:model=NAME", read_tasks(Path("tasks.jsonl")))

A language model replies to the prompts. Any other player answers puzzles by its turn and predicts
winners by a game against itself; it has no answer to the other kinds, which the rules alone answer.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from cc_env.core.game import Game
from cc_env.core.random_streams import check_seed
from cc_env.core.rules import FIRST_WINS, SECOND_WINS
from cc_env.errors import Forfeit, check_integer
from cc_env.match.confidence import Interval, wilson_interval
from cc_env.match.match import Limits
from cc_env.match.record import RESULTS, Record
from cc_env.match.referee import Player, play_match
from cc_env.players.specs import make_player
from cc_env.tasks.task import PUZZLE, WINNER, Task, grade

MAX_WORKERS = 1000
# The winner by the result of a record.
_WINNERS = {RESULTS[outcome]: outcome for outcome in (FIRST_WINS, SECOND_WINS)}


@runtime_checkable
class ReplyingPlayer(Protocol):
    """A player that replies to prompts, such as a language model."""

    def reply(self, prompt: str, rng: np.random.Generator) -> str:
        """Return the reply to a prompt; raise Forfeit after a fault."""


class Answer(NamedTuple):
    """The reply of a player to a task; with a fault, its reason instead."""

    task: Task
    reply: str
    fault: str = ""

    @property
    def grade(self) -> float:
        """The grade of the reply, 0.0 to 1.0."""
        return 0.0 if self.fault else grade(self.task, self.reply)


def measure(player: str, tasks: Iterable[Task], *, seed: int = 0, workers: int = 1) -> list[Answer]:
    """Return the answers of a player spec to the tasks that it can answer.

    `workers` is the number of requests at once. Raises BadOption if the player cannot be created or
    for a value out of range.
    """
    check_seed(seed)
    check_integer("workers", workers, 1, MAX_WORKERS)
    players: dict[Game, Player] = {}

    selected: list[tuple[Player, Task, int]] = []
    for index, task in enumerate(tasks):
        if task.game not in players:
            players[task.game] = make_player(player, task.game)
        rated = players[task.game]
        if task.kind in (PUZZLE, WINNER) or isinstance(rated, ReplyingPlayer):
            task_seed = int(np.random.SeedSequence((seed, index)).generate_state(1)[0])
            selected.append((rated, task, task_seed))
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda arguments: _answer(*arguments), selected))


def share_solved(answers: Sequence[Answer]) -> Interval:
    """Return the mean grade with its 95 % interval."""
    return wilson_interval(sum(answer.grade for answer in answers) / len(answers), len(answers))


def _answer(player: Player, task: Task, seed: int) -> Answer:
    """Return the answer of a player."""
    if isinstance(player, ReplyingPlayer):
        try:
            return Answer(task, player.reply(task.prompt, np.random.default_rng(seed)))
        except Forfeit as fault:
            return Answer(task, "", str(fault))
    limits = Limits(max_turns=1) if task.kind == PUZZLE else Limits()
    record = play_match(task.game, (player, player), start=task.position, limits=limits, seed=seed)
    if record.forfeit:
        return Answer(task, "", record.detail)
    text = record.turns[0] if task.kind == PUZZLE else _winner(task, record)
    return Answer(task, f"<answer>{text}</answer>")


def _winner(task: Task, record: Record) -> str:
    """Return the winner of a game from the position of a task, and its number of turns."""
    if record.result not in _WINNERS:
        return "draw"
    winner = _WINNERS[record.result]
    is_first_to_move = winner == task.game.to_move(task.position)
    return f"{task.game.players[winner]} {(len(record.turns) + is_first_to_move) // 2}"
