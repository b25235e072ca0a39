"""Language models as players, on any server with OpenAI's chat completions.

    llm:model=NAME,url=http://127.0.0.1:8000/v1

Each turn is a conversation of its own: the rules, the position, and the legal turns. A reply
without a legal turn is answered by the reason, up to a number of tries. No other turn is ever
played instead: a player without a legal turn in time loses, and the record contains the reason.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from cc_env.core.game import Game, Turn
from cc_env.core.rules import Position
from cc_env.errors import BadOption, Forfeit, IllegalAction, check_bool, check_integer, check_number
from cc_env.files import append_atomically
from cc_env.match.referee import Clock, Decision
from cc_env.protocols.chat_client import ChatClient, ChatError, Completion, Message
from cc_env.text.prompts import describe_position, instructions, list_turns
from cc_env.text.turns import find_turn

DEFAULT_URL = "http://127.0.0.1:8000/v1"
# Longest time for a turn.
MAX_SECONDS = 86_400
# Characters of a refused reply that the conversation repeats.
MAX_REPEATED_LENGTH = 4000


class LanguageModelPlayer:
    """Plays the turns that a language model chooses in prose."""

    def __init__(
        self,
        game: Game,
        *,
        model: str | None = None,
        url: str = DEFAULT_URL,
        tries: int = 3,
        seconds: float = 60.0,
        tokens: int = 2048,
        budget: int | None = None,
        temperature: float | None = None,
        show_legal: bool = True,
        retries: int = 2,
        transcripts: str | None = None,
    ) -> None:
        """Play with `model` on the server at `url`.

        A turn has `tries` replies and `seconds`, a reply `tokens`, and the replies of a game have
        `budget` tokens, None for no limit. `temperature` None is the server's default. Requests
        contain the legal turns if `show_legal`. Requests that fail temporarily are repeated
        `retries` times. The conversations of each game are appended to a file in the folder
        `transcripts`. Raises BadOption on invalid values.
        """
        if not isinstance(model, str) or not model:
            raise BadOption(f"model={model!r}; expected: the name of a model on the server")
        check_number("seconds", seconds, 0.001, MAX_SECONDS)
        check_integer("tries", tries, 1, 100)
        check_integer("tokens", tokens, 1)
        if budget is not None:
            check_integer("budget", budget, 1, note=", or None for no limit")
        if temperature is not None:
            check_number("temperature", temperature, 0, 2, ", or None for the server's default")
        check_bool("show_legal", show_legal)
        check_integer("retries", retries, 0, 20)
        self._game, self._model, self._client = game, model, ChatClient(str(url), retries)
        self._tries, self._seconds, self._budget = tries, seconds, budget
        self._show_legal = show_legal
        self._parameters: dict[str, Any] = {"model": model, "max_tokens": tokens}
        if temperature is not None:
            self._parameters["temperature"] = temperature
        self._instructions = instructions(game)
        self._folder = None if transcripts is None else _existing_folder(transcripts)
        self._begin()

    def _begin(self) -> None:
        """Forget the turns of an earlier game."""
        self._tokens_spent = 0
        # Remaining actions of the current turn, each with its position.
        self._planned: list[tuple[Position, int]] = []
        self._transcript = self._folder / f"{uuid4().hex}.jsonl" if self._folder else None

    def for_new_game(self) -> "LanguageModelPlayer":
        """Return a player for another game, with a budget and a transcript of its own."""
        player = copy(self)
        player._begin()
        return player

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the next decision of the model's turn; raise Forfeit after a fault."""
        if self._planned and self._planned[0][0] == position:
            return Decision(self._planned.pop(0)[1])
        seconds = min(self._seconds, clock.turn, clock.game)
        with self._faults(seconds):
            turn = self._request_turn(position, rng, time.perf_counter() + seconds)
        positions = [position]
        for action in turn[:-1]:
            positions.append(self._game.apply(positions[-1], action))
        self._planned = list(zip(positions, turn, strict=True))[1:]
        return Decision(turn[0])

    def reply(self, prompt: str, rng: np.random.Generator) -> str:
        """Return the model's reply to a prompt; raise Forfeit after a fault."""
        messages: list[Message] = [{"role": "user", "content": prompt}]
        with self._faults(self._seconds):
            until = time.perf_counter() + self._seconds
            completion = self._complete(messages, int(rng.integers(2**31)), until)
        self._write(messages, completion)
        return completion.text

    @contextmanager
    def _faults(self, seconds: float) -> Iterator[None]:
        """Raise Forfeit for a TimeoutError or a ChatError in the block."""
        try:
            yield
        except TimeoutError:
            raise Forfeit("time", f"{self._model}: no reply in {seconds:.3g} s") from None
        except ChatError as error:
            raise Forfeit("error", f"{self._model}: {error}") from None

    def _request_turn(self, position: Position, rng: np.random.Generator, until: float) -> Turn:
        """Return the model's turn; raise TimeoutError, ChatError, or Forfeit after all tries."""
        seed = int(rng.integers(2**31))
        messages: list[Message] = [
            {"role": "system", "content": self._instructions},
            {"role": "user", "content": self._request(position)},
        ]
        reason = ""
        for _ in range(self._tries):
            completion = self._complete(messages, seed, until)
            try:
                turn = find_turn(self._game, position, completion.text, show_legal=self._show_legal)
            except IllegalAction as error:
                reason = str(error)
                reply = completion.text[-MAX_REPEATED_LENGTH:]
                messages.append({"role": "assistant", "content": reply})
                messages.append({"role": "user", "content": f"{reason}\nReply again."})
            else:
                self._write(messages, completion)
                return turn
            self._write(messages[:-2], completion, reason)
        raise Forfeit("illegal", f"{self._model}: no legal turn in {self._tries} replies: {reason}")

    def _complete(self, messages: list[Message], seed: int, until: float) -> Completion:
        """Return a reply within the budget; raise Forfeit if it is exhausted."""
        parameters = {**self._parameters, "seed": seed}
        if self._budget is not None:
            if self._tokens_spent >= self._budget:
                reason = f"the budget of {self._budget:,} tokens is spent"
                raise Forfeit("error", f"{self._model}: {reason}")
            left = self._budget - self._tokens_spent
            parameters["max_tokens"] = min(parameters["max_tokens"], left)
        completion = self._client.complete(messages, parameters, until)
        # Servers that do not report tokens count as if each reply had as many as possible.
        self._tokens_spent += completion.tokens or parameters["max_tokens"]
        return completion

    def _request(self, position: Position) -> str:
        """Return the position and, unless they are hidden, its legal turns."""
        game = self._game
        text = describe_position(game, position, game.to_move(position))
        if not self._show_legal:
            return text
        turns = (turn_text for _, turn_text in game.readable_turns(position))
        return f"{text}\n{list_turns(turns)}"

    def _write(self, messages: list[Message], completion: Completion, error: str = "") -> None:
        """Append a request and its reply to the transcript, if there is one."""
        if self._transcript is None:
            return
        line = {
            "model": self._model,
            "messages": messages,
            "reply": completion.text,
            "tokens": completion.tokens,
            "error": error,
        }
        append_atomically(self._transcript, json.dumps(line) + "\n")


def _existing_folder(folder: object) -> Path:
    """Return a folder; raise BadOption if it does not exist."""
    path = Path(str(folder))
    if not path.is_dir():
        raise BadOption(f"transcripts={str(folder)!r}; expected: an existing folder")
    return path
