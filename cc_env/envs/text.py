"""Games in words: an environment whose observations and actions are texts, for language models."""

import string
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import gymnasium
from gymnasium import spaces
from gymnasium.utils import seeding

from cc_env.core.game import Turn
from cc_env.core.rules import ONGOING, Position
from cc_env.envs.arguments import as_seed, make_environment_game
from cc_env.envs.boards import ILLEGAL_MODES, NO_SCORE, Boards, Ending
from cc_env.envs.opponents import AnyOpponent, make_opponent, opponent_names, sampling_pool
from cc_env.envs.rendering import FRAMES_PER_SECOND, check_render_mode
from cc_env.errors import (
    BadPlayer,
    IllegalAction,
    ResetNeeded,
    check_bool,
    check_choice,
    check_integer,
    check_number,
    format_count,
)
from cc_env.text.prompts import MAX_SHOWN_TURNS, describe_position, instructions, list_turns
from cc_env.text.turns import find_turn, tagged_text

# Characters of a reply and of an observation.
MAX_REPLY_LENGTH = 2**16
MAX_OBSERVATION_LENGTH = 2**16
MAX_TRIES = 1000
RENDER_MODES = ["ansi"]

Info = dict[str, Any]


@dataclass(frozen=True)
class TextOptions:
    """The options of environments in words.

    Observations contain the legal turns if `show_legal`, and all turns so far if `show_history`.
    A reply without a legal turn costs `penalty`; the player replies again, until `tries` replies
    had none. `illegal` is how the last one is handled: "lose" the game, play a "random" legal turn
    instead, or "raise" an error at the first such reply. Raises BadOption on other values.
    """

    show_legal: bool = True
    show_history: bool = False
    tries: int = 1
    penalty: float = 0.0
    illegal: str = "lose"

    def __post_init__(self) -> None:
        check_bool("show_legal", self.show_legal)
        check_bool("show_history", self.show_history)
        check_integer("tries", self.tries, 1, MAX_TRIES)
        check_number("penalty", self.penalty, 0, 1)
        check_choice("illegal", self.illegal, ILLEGAL_MODES)


class TextBoard:
    """A board on which replies in prose are played, with its observations in words.

    `reward` is the reward of the last reply, for the player who gave it, without `penalty`, the
    cost of a reply without a legal turn. `error` is the reason why such a reply was refused, "" for
    others; `tries_left` is the number of replies that the player to move has. `last_turn` is the
    turn that the last reply chose, () if it was refused. `result` describes how the game ended, as
    `Boards.result` does; None before.
    """

    def __init__(self, boards: Boards, options: TextOptions) -> None:
        """Use one board; call `begin` after each of its resets."""
        self.boards, self.game, self._options = boards, boards.game, options
        self.result: Ending | None = None
        self.last_turn: Turn = ()

    @property
    def terminated(self) -> bool:
        """Whether the rules, or a reply, have ended the game."""
        return self.result is not None and self.result["outcome"] != ONGOING

    @property
    def truncated(self) -> bool:
        """Whether a limit has ended the game."""
        return self.result is not None and self.result["outcome"] == ONGOING

    def begin(self) -> None:
        """Begin in the position of the board."""
        self.result = None
        self._history: list[str] = []
        self.error, self.last_turn = "", ()
        # By seat, the text of the random turn that replaced its last reply.
        self._random_turns: dict[int, str] = {}
        self.reward = self.penalty = 0.0
        self._begin_turn()
        if self._options.show_history:
            self._add_last_turn(None)

    def _begin_turn(self) -> None:
        """Let the player to move have all tries, and find the legal turns if they are shown."""
        self.tries_left, self._legal = self._options.tries, dict[str, Turn]()
        if self._options.show_legal and self.result is None:
            turns = self.game.readable_turns(self.boards.position())
            self._legal = {text: turn for turn, text in islice(turns, MAX_SHOWN_TURNS + 1)}

    def play(self, reply: object) -> None:
        """Play the turn that a reply chooses, and the opponent's turn.

        Raises ResetNeeded after the end of the game, IllegalAction for a reply that is not a string
        or, if `illegal` is "raise", has no legal turn; then nothing has changed. Errors of the
        opponent are passed on.
        """
        if not isinstance(reply, str):
            raise IllegalAction(f"reply {reply!r:.80} is not a string")
        if self.result is not None:
            raise ResetNeeded("the game is over; call reset() before step()")
        position = self.boards.position()
        self._random_turns.pop(self.game.to_move(position), None)
        try:
            turn = self._legal.get(tagged_text(reply) or "", ())
            turn = self.last_turn = turn or find_turn(self.game, position, reply)
            self.error, self.penalty = "", 0.0
        except IllegalAction as error:
            if self._options.illegal == "raise":
                raise
            self.error, self.penalty, self.last_turn = str(error), self._options.penalty, ()
            turn = self._turn_after_error(position)
        if turn:
            self._play_turn(position, turn)

    def _turn_after_error(self, position: Position) -> Turn:
        """Return a random turn if it replaces the last try; () if there is no turn to play."""
        self.reward = 0.0
        self.tries_left -= 1
        if self.tries_left:
            return ()
        if self._options.illegal == "random":
            turns = list(self.game.turns(position))
            turn = turns[int(self.boards.generator(0).integers(len(turns)))]
            text = self.game.readable_turn_text(position, turn)
            self._random_turns[self.game.to_move(position)] = text
            return turn
        self.reward, loser = -1.0, self.game.to_move(position)
        score = self.game.score(position, loser) if self.game.has_scores else NO_SCORE
        self.result = {"outcome": 1 - loser, "ending": "illegal", "score": score}
        return ()

    def _play_turn(self, position: Position, turn: Turn) -> None:
        """Play a legal turn, and the opponent's turn."""
        for action in turn:
            self.boards.step_one(action)
        self.reward = self.boards.rewards.item()
        if self.boards.has_ended():
            self.result = self.boards.result()
        self._begin_turn()
        if self._options.show_history:
            self._add_to_history(position, turn)
            self._add_last_turn(self.game.play_turn(position, turn))

    def _add_last_turn(self, after: Position | None) -> None:
        """Add the last turn on the board to the history, unless it led to the position `after`."""
        position = self.boards.position()
        before = self.game.make_position(self.boards.positions_before[0])
        if position != after:
            for turn in islice(self.game.turns_between(before, position), 1):
                self._add_to_history(before, turn)

    def _add_to_history(self, position: Position, turn: Turn) -> None:
        text = self.game.readable_turn_text(position, turn)
        self._history.append(f"{self.game.players[self.game.to_move(position)]} {text}")

    def observation(self, seat: int) -> str:
        """Return the board in words, as the player in `seat`, 0 or 1, sees it."""
        game, position = self.game, self.boards.position()
        end = None if self.result is None else (self.result["outcome"], self.result["ending"])
        lines = [describe_position(game, position, seat, end)]
        if self._history:
            lines.append(f"Turns so far: {', '.join(self._history)}")
        if seat in self._random_turns:
            turn_text = self._random_turns[seat]
            lines.append(f"Your last reply was refused; the random turn {turn_text} was played.")
        if end is None and game.to_move(position) == seat:
            lines += self._request_lines()
        return "\n".join(lines)

    def _request_lines(self) -> Iterator[str]:
        """Yield the error of the last reply, and the legal turns, for the player to move."""
        if self.error and self.tries_left < self._options.tries:
            yield f"{self.error}\nYou have {format_count(self.tries_left, 'reply')} left."
        if self._options.show_legal:
            yield list_turns(self._legal)


class TextGameEnv(gymnasium.Env[str, str]):
    """A two-player game in words for one learner; the opponent replies within `step`.

    Observation
        Text: the board (`board_text`), who the learner is, who is to move or how the game ended
        and, according to the options, all turns so far and the legal turns. `rules` is a text for
        the beginning of a prompt.
    Action
        Text: a reply with a whole turn, which `find_turn` reads, such as <turn>a1-c3</turn>.
    Reward
        +1 for a win, -1 for a loss, 0 for a draw and before the end; minus `penalty` for a reply
        without a legal turn.
    Ending
        As in `BoardGameEnv`. With illegal="lose" the last of `tries` replies without a legal turn
        loses the game; the ending is "illegal".
    Info
        The same keys after every `reset` and `step`: to_move, seat, opponent, illegal_action,
        outcome, ending and score, as in `BoardGameEnv`; error, the reason why the last reply was
        not accepted, "" if it was; tries_left, the number of replies until `illegal` applies.
    Reset
        `options={"position": TEXT}` begins in that position, without a random opening.

    Versions
        v0: first version.

    Examples:

        >>> import gymnasium
        >>> env = gymnasium.make("cc_env/TextGame-v0", size=4, seat=0)
        >>> observation, info = env.reset(seed=0)
        >>> print(observation)
           a b c d
        4  . . r r
        3  . . . r
        2  b . . .
        1  b b . .
        <BLANKLINE>
        You are blue (b). Blue to move.
        Legal turns: a1-c1, a1-a3, b1-c1, b1-b2, b1-c2, a2-b2, a2-a3, a2-b3
        >>> observation, reward, terminated, truncated, info = env.step("I play a1-c1.")
        >>> reward, terminated, info["error"]
        (0.0, False, '')
    """

    metadata = {"render_modes": RENDER_MODES, "render_fps": FRAMES_PER_SECOND}

    def __init__(
        self,
        game: str = "capture_conquer",
        *,
        opponent: AnyOpponent = "random",
        seat: int | None = None,
        max_turns: int | None = 200,
        repetitions: int | None = None,
        draw_at_limits: bool = False,
        max_opening_turns: int = 0,
        show_legal: bool = True,
        show_history: bool = False,
        tries: int = 1,
        penalty: float = 0.0,
        illegal: str = "lose",
        render_mode: str | None = None,
        **options: object,
    ) -> None:
        """Create the environment of `game` with its `options`; raise BadOption on bad values.

        The arguments are those of `BoardGameEnv` and of `TextOptions`; `render_mode` is "ansi" or
        None.
        """
        self.game = make_environment_game(TextGameEnv, game, options)
        if opponent is None:
            raise BadPlayer("None is not a player; for self-play use PettingZoo")
        check_render_mode(render_mode, RENDER_MODES)
        self.render_mode = render_mode
        self._opponent = make_opponent(opponent, self.game)
        boards = Boards(
            self.game,
            opponent=self._opponent,
            seat=seat,
            max_turns=max_turns,
            repetitions=repetitions,
            draw_at_limits=draw_at_limits,
            max_opening_turns=max_opening_turns,
        )
        text_options = TextOptions(show_legal, show_history, tries, penalty, illegal)
        self._board = TextBoard(boards, text_options)
        # Created here, so that copies of an unseeded environment continue with the same numbers.
        self._np_random, self._np_random_seed = seeding.np_random()
        self.observation_space = text_space(MAX_OBSERVATION_LENGTH)
        self.action_space = text_space(MAX_REPLY_LENGTH)

    @property
    def rules(self) -> str:
        """The rules of the game and how to reply, for the beginning of a prompt."""
        return instructions(self.game)

    @property
    def position(self) -> Position:
        """The position on the board; raises ResetNeeded before the first reset."""
        return self._board.boards.position()

    @property
    def last_turn(self) -> Turn:
        """The turn that the last reply chose, () if it was refused and after a reset."""
        return self._board.last_turn

    @property
    def opponent_names(self) -> tuple[str, ...]:
        """The names of the opponents, by `info["opponent"]`: player specs, functions or classes."""
        return opponent_names(self._opponent)

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[str, Info]:
        """Begin an episode; raise as `BoardGameEnv.reset`."""
        boards = self._board.boards
        starts = boards.parse_options(options)
        super().reset(seed=as_seed(seed))
        boards.reset(starts=starts, streams=self.np_random.bit_generator.random_raw(1))
        self._board.begin()
        return self._board.observation(boards.seat()), self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        """Play the turn that the reply `action` chooses, and the opponent's reply.

        Raises as `TextBoard.play`.
        """
        board = self._board
        board.play(action)
        info, reward = self._info(), board.reward - board.penalty
        observation = board.observation(info["seat"])
        return observation, reward, board.terminated, board.truncated, info

    def render(self) -> str | None:
        """Return the observation in the mode "ansi"; raise ResetNeeded before the first reset."""
        if self.render_mode is None:
            return None
        return self._board.observation(self._board.boards.seat())

    def _info(self) -> Info:
        board, boards = self._board, self._board.boards
        pool = sampling_pool(self._opponent)
        return {
            "to_move": boards.to_move.item(),
            "seat": boards.seat(),
            "opponent": 0 if pool is None else pool.opponent_index(boards),
            "illegal_action": bool(board.error),
            "error": board.error,
            "tries_left": board.tries_left,
            **(board.result or {"outcome": ONGOING, "ending": "", "score": NO_SCORE}),
        }


def text_space(max_length: int) -> spaces.Text:
    """Return the space of texts of printable ASCII characters and line breaks."""
    return spaces.Text(max_length, min_length=0, charset=string.printable)
