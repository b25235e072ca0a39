"""The share of tasks that a player solves, by kind.

    answers = measure("llm:model=NAME", read_tasks(Path("tasks.jsonl")))

A language model replies to the prompts. Any other player answers puzzles by its turn and predicts
winners by a game against itself; it has no answer to the other kinds, which the rules alone answer.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from cc_env.core.game import Game
from cc_env.core.random_streams import check_seed
from cc_env.core.rules import FIRST_WINS, SECOND_WINS
from cc_env.errors import Forfeit
from cc_env.match.confidence import Interval, wilson_interval
from cc_env.match.match import Limits
from cc_env.match.record import RESULTS, Record
from cc_env.match.referee import Player, play_match, player_for_new_game
from cc_env.players.specs import make_player
from cc_env.processes import ProcessPool, in_order
from cc_env.tasks.task import PUZZLE, WINNER, Task, grade

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


def measure(player: str, tasks: Iterable[Task], *, seed: int = 0, workers: int = 0) -> list[Answer]:
    """Return the answers of a player spec to the tasks that it can answer.

    `workers` is the number of processes that answer tasks at once, 0 for this process alone. Raises
    BadOption if the player cannot be created or for a value out of range.
    """
    check_seed(seed)
    work = _Replies(player, list(tasks), seed)
    indices = [index for index in range(len(work.tasks)) if work.can_answer(index)]
    with ProcessPool(work, workers) as pool:
        replies = in_order(pool.map_unordered(indices), indices)
    return [
        Answer(work.tasks[index], *reply) for index, reply in zip(indices, replies, strict=True)
    ]


class _Replies:
    """The replies of a player to tasks, by index; copies in other processes have own players."""

    def __init__(self, player: str, tasks: list[Task], seed: int) -> None:
        self.tasks = tasks
        self._arguments = player, tasks, seed
        self._players: dict[Game, Player] = {}

    def __reduce__(self) -> tuple[type["_Replies"], tuple[str, list[Task], int]]:
        return _Replies, self._arguments

    def _player(self, game: Game) -> Player:
        if game not in self._players:
            self._players[game] = make_player(self._arguments[0], game)
        return self._players[game]

    def can_answer(self, index: int) -> bool:
        """Return whether the player can answer a task."""
        task = self.tasks[index]
        is_model = isinstance(self._player(task.game), ReplyingPlayer)
        return is_model or task.kind in (PUZZLE, WINNER)

    def __call__(self, index: int) -> tuple[str, str]:
        """Return the reply to a task, and "" or the reason of a fault."""
        task = self.tasks[index]
        words = np.random.SeedSequence((self._arguments[2], index)).generate_state(1)
        return _reply(player_for_new_game(self._player(task.game)), task, int(words[0]))


def share_solved(answers: Sequence[Answer]) -> Interval:
    """Return the mean grade with its 95 % interval."""
    return wilson_interval(sum(answer.grade for answer in answers) / len(answers), len(answers))


def _reply(player: Player, task: Task, seed: int) -> tuple[str, str]:
    """Return the reply of a player to a task, and "" or the reason of a fault."""
    if isinstance(player, ReplyingPlayer):
        try:
            return player.reply(task.prompt, np.random.default_rng(seed)), ""
        except Forfeit as fault:
            return "", f"{fault.fault}: {fault}"
    limits = Limits(max_turns=1) if task.kind == PUZZLE else Limits()
    record = play_match(task.game, (player, player), start=task.position, limits=limits, seed=seed)
    if record.forfeit:
        return "", f"{record.reason}: {record.detail}"
    text = record.turns[0] if task.kind == PUZZLE else _winner(task, record)
    return f"<answer>{text}</answer>", ""


def _winner(task: Task, record: Record) -> str:
    """Return the winner of a game from the position of a task, and its number of turns."""
    if record.result not in _WINNERS:
        return "draw"
    winner = _WINNERS[record.result]
    is_first_to_move = winner == task.game.to_move(task.position)
    return f"{task.game.players[winner]} {(len(record.turns) + is_first_to_move) // 2}"
