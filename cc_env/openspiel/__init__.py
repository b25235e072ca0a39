"""The games of cc_env in OpenSpiel (extra `openspiel`); importing this module registers them.

    import cc_env.openspiel
    import pyspiel

    game = pyspiel.load_game("python_cc_env_capture_conquer(size=4)")
    state = game.new_initial_state()
    while not state.is_terminal():
        state.apply_action(state.legal_actions()[0])
    print(state, state.returns())

    bots = [cc_env.openspiel.PlayerBot(game, name) for name in ("minimax:normal", "random")]
    print(pyspiel.evaluate_bots(game.new_initial_state(), bots, 0))

Names      python_cc_env_NAME, with NAME as in `cc_env.make_game`. `register` adds another game.

Parameters The game's own options, with their defaults; an option that may be None is None if the
           parameter is 0 or an empty text. And, for every game:
           position          text of the starting position; empty for the initial position
           max_game_length   decisions after which the game is a draw (400)
           repetitions       occurrences of a position that make the game a draw: 2 or more, or 0
                             for no limit; 0 for Cannon, which has a repetition rule of its own
           utility_margin    false: returns are 1, -1 and 0; true: returns are plus and minus the
                             margin of the victory (`Game.margin`)

Actions    One decision each, with its id in the frame of the player to move. Between the decisions
           of one turn the same player is to move. Texts of actions are in the notation of cc_env.

Tensors    float32[C + 2, H, W], the same for observation and information state: the C planes of
           H rows and W columns named in `game.game.planes`, in the frame of the observing player;
           a plane of ones for player 0; and a plane of ones for the player to move. From the last
           two a network can infer the player whose value it predicts, for OpenSpiel's AlphaZero.
           Neither the number of decisions nor earlier positions are included.

Strings    Of an observation, the position; of an information state, the history; of a state, the
           position and everything else that determines the rest of the game, so that equal strings
           mean equal states, as value iteration assumes.

A state is an array for compiled code: applying an action, or cloning, takes a few microseconds.

OpenSpiel 2.0.2 crashes where its C++ `MCTSBot.step` is called from Python, on any game in Python;
`mcts_search(state).best_child().action` and `pyspiel.evaluate_bots` are equivalent and work.
"""

from collections.abc import Mapping
from types import NoneType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.envs.arguments import as_seed
from cc_env.errors import BadOption, IllegalAction, MissingExtra, check_integer
from cc_env.games.factory import game_option_defaults, game_option_types, make_game
from cc_env.match.referee import Clock, Player, player_for_new_game
from cc_env.openspiel import course
from cc_env.players.specs import as_player
from cc_env.registry.catalogue import GAMES
from cc_env.registry.options import joined_types

try:
    import pyspiel
    from open_spiel.python.observation import IIGObserverForPublicInfoGame
except ImportError as missing:
    raise MissingExtra("cc_env.openspiel", "open_spiel", "openspiel") from missing

LIMITS = {"position": "", "max_game_length": 400, "repetitions": 0, "utility_margin": False}
# Upper limit of `max_game_length`.
MAX_GAME_LENGTH = 2**20

# The parameter that stands for None, by type.
_EMPTY = {int: 0, float: 0.0, str: ""}


class _Node(NamedTuple):
    """The immutable content of a state.

    `row` is described in `course`; `mover` is 0, 1 or `course.TERMINAL`; `lead` is the first
    player's margin, 0 before the end.
    """

    row: NDArray[np.uint64]
    legal: list[int]
    mover: int
    lead: int

    def __deepcopy__(self, memo: object) -> "_Node":
        return self


class BoardGame(pyspiel.Game):
    """An OpenSpiel game whose rules are those of `game`, a `cc_env.core.game.Game`.

    `name` is its name in `cc_env.make_game`, `kind` its GameType.
    """

    name: ClassVar[str]
    kind: ClassVar[Any]

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        """Create the game with all parameters of its GameType; raise BadOption or BadPosition."""
        limits = {limit: parameters[limit] for limit in LIMITS}
        self.game = make_game(self.name, **_parse_options(self.name, parameters))
        _check_limits(self.game, limits["max_game_length"], limits["repetitions"])
        self.utility_limit = self.game.max_margin if limits["utility_margin"] else 1
        info = pyspiel.GameInfo(
            num_distinct_actions=self.game.num_actions,
            max_chance_outcomes=0,
            num_players=2,
            min_utility=-self.utility_limit,
            max_utility=self.utility_limit,
            utility_sum=0.0,
            max_game_length=limits["max_game_length"],
        )
        defaults = self.kind.parameter_specification
        changed = {key: value for key, value in parameters.items() if value != defaults[key]}
        super().__init__(self.kind, info, changed)
        self._limits = limits["max_game_length"], limits["repetitions"]
        self.start = self._begin(limits["position"])

    def __reduce__(self) -> tuple[Any, ...]:
        return _load, (self.name, str(self))

    def new_initial_state(self, position: str | None = None) -> "BoardState":
        """Return the starting state, or that of a position in text; raise BadPosition."""
        return BoardState(self, self.start if position is None else self._begin(position))

    def make_py_observer(self, kind: Any = None, params: Any = None) -> Any:
        """Return a PlanesObserver, or OpenSpiel's observer if `kind` excludes public information.

        Raises BadOption for parameters.
        """
        if params:
            raise BadOption(f"params={params!r}; observers of cc_env games have no parameters")
        if kind and not kind.public_info:
            return IIGObserverForPublicInfoGame(kind, None)
        return PlanesObserver(self.game, of_history=bool(kind and kind.perfect_recall))

    def child(self, node: _Node, action: int) -> _Node:
        """Return the node after an action; raise IllegalAction if it is illegal."""
        if action not in node.legal:
            raise self._illegal_action_error(node, action)
        return self._node_after(node.row.copy(), action)

    def position(self, row: NDArray[np.uint64]) -> Position:
        """Return the position in the first columns of a row, uint64[fields + 5 + keys]."""
        return self.game.make_position(row[: len(self.game.initial)])

    def _begin(self, text: str) -> _Node:
        position = self.game.from_text(text) if text else self.game.initial
        return self._node_after(
            course.initial_row(self.game, position, *self._limits), course.NO_ACTION
        )

    def _node_after(self, row: NDArray[np.uint64], action: int) -> _Node:
        legal = np.empty(self.game.num_actions, np.int32)
        count, mover, lead = course.play(self.game.initial, row, action, legal)
        return _Node(row, legal[:count].tolist(), int(mover), int(lead))

    def _illegal_action_error(self, node: _Node, action: object) -> IllegalAction:
        position = self.position(node.row)
        if node.mover != course.TERMINAL:
            return self.game.illegal_action(position, action)
        text = self.game.to_text(position)
        return IllegalAction(f"action {action!r} is not legal in '{text}'; the game is over")


class BoardState(pyspiel.State):
    """A state of a `BoardGame`."""

    def __init__(self, game: BoardGame, node: _Node) -> None:
        """Create the state of a node; use `BoardGame.new_initial_state` instead."""
        super().__init__(game)
        self.node = node

    @property
    def position(self) -> Position:
        """The position of the state."""
        return self.get_game().position(self.node.row)

    def current_player(self) -> int:
        """Return the player to move, 0 or 1, or `pyspiel.PlayerId.TERMINAL` after the end."""
        return self.node.mover

    def is_terminal(self) -> bool:
        """Return whether the game is over."""
        return self.node.mover == course.TERMINAL

    def returns(self) -> list[float]:
        """Return the utilities of both players: 0 for a draw and before the end."""
        limit = self.get_game().utility_limit
        utility = float(max(-limit, min(self.node.lead, limit)))
        return [utility, -utility]

    def legal_actions(self, player: int | None = None) -> list[int]:
        """Return the legal actions, ascending; none for a player who is not to move.

        Faster than the inherited method, which calls five others in Python.
        """
        return list(self.node.legal) if player in (None, self.node.mover) else []

    def _legal_actions(self, player: int) -> list[int]:
        return self.node.legal

    def _apply_action(self, action: int) -> None:
        self.node = self.get_game().child(self.node, action)

    def _action_to_string(self, player: int, action: int) -> str:
        game = self.get_game().game
        check_integer("action", action, 0, game.num_actions - 1)
        text: str = game.action_text(self.position, action)
        return text

    def __str__(self) -> str:
        game, row = self.get_game().game, self.node.row
        columns = row[len(game.initial) :]
        text = f"{game.to_text(self.position)}, decisions: {columns[course.DECISIONS]}"
        if len(keys := columns[len(course.COLUMNS) :]):
            text += f", positions before: {keys.sum():016x}"
        return text


class PlanesObserver:
    """Writes the tensor of a state, which the module describes, into `tensor`.

    It is float32[(C + 2) * H * W].
    """

    def __init__(self, game: Game, *, of_history: bool) -> None:
        """Observe states of a game; strings are the history or, by default, the position."""
        planes, rows, columns = game.observation_shape
        shaped = np.zeros((planes + 2, rows, columns), np.float32)
        self.tensor, self.dict = shaped.reshape(-1), {"observation": shaped}
        self._game, self._of_history = game, of_history
        self._planes = np.empty(game.observation_shape, np.int8)

    def set_from(self, state: BoardState, player: int) -> None:
        """Write the observation of a player; raise BadOption unless `player` is 0 or 1."""
        if player not in (0, 1):
            raise BadOption(f"player={player!r}; expected: 0 or 1")
        planes = self.dict["observation"]
        course.observe(self._game.initial, state.node.row, player, self._planes)
        planes[:-2] = self._planes
        planes[-2] = player == 0
        planes[-1] = player == state.node.mover

    def string_from(self, state: BoardState, player: int) -> str:
        """Return the position as text, or the history."""
        return str(state.history_str() if self._of_history else self._game.to_text(state.position))


class PlayerBot(pyspiel.Bot):
    """A cc_env player as an OpenSpiel bot; it has no state from earlier games."""

    def __init__(self, game: BoardGame, player: str | Player, *, seed: int | None = None) -> None:
        """Use a player or a player spec, such as "minimax:normal", with random numbers from `seed`.

        Raises BadOption if `game` is not a BoardGame, or there is no such player.
        """
        super().__init__()
        if not isinstance(game, BoardGame):
            raise BadOption(f"{game} is not a game of cc_env; expected: python_cc_env_…")
        self._game, self._rng = game, np.random.default_rng(as_seed(seed))
        self._prototype = as_player(player, game.game)
        self._player = player_for_new_game(self._prototype)

    def restart(self) -> None:
        """Prepare for a new game."""
        self._player = player_for_new_game(self._prototype)

    def restart_at(self, state: BoardState) -> None:
        """Prepare for a new game that begins in `state`."""
        self.restart()

    def step(self, state: BoardState) -> int:
        """Return an action; raise BadOption for a state of another game, or IllegalAction."""
        if state.get_game() != self._game:
            raise BadOption(f"state is of {state.get_game()}; expected: a state of {self._game}")
        action = self._player.choose(state.position, self._rng, Clock()).action
        return self._game.game.check_action(state.position, action)


def register(name: str) -> str:
    """Register the game that `cc_env.make_game` creates by `name`; return its OpenSpiel name.

    Raises UnknownOption if there is no such game, BadOption if one of its options has a type that
    OpenSpiel cannot express or the name of a parameter in LIMITS.
    """
    short = f"cc_env_{name}" if name in GAMES else name.replace(".", "_")
    kind = pyspiel.GameType(
        short_name=f"python_{short}",
        long_name=f"{name} (cc_env)",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
        information=pyspiel.GameType.Information.PERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=2,
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=_specification(name),
    )
    # OpenSpiel keeps this object after Python has ended, when only classes are safe.
    registered = type(kind.short_name, (BoardGame,), {"name": name, "kind": kind})
    pyspiel.register_game(kind, registered)
    return str(kind.short_name)


def _load(name: str, text: str) -> BoardGame:
    """Load a pickled game by its OpenSpiel text."""
    register(name)
    game: BoardGame = pyspiel.load_game(text)
    return game


def _specification(name: str) -> dict[str, Any]:
    """Return the OpenSpiel parameters of a game with their defaults; raise BadOption."""
    values = dict(LIMITS)
    for option, default in game_option_defaults(name).items():
        if option in LIMITS:
            raise BadOption(f"{name}: the option {option} has the name of a parameter in OpenSpiel")
        kind, _ = _option_type(name, option)
        values[option] = _EMPTY[kind] if default is None else default
    return values


def _parse_options(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a game in OpenSpiel parameters."""
    values = {option: parameters[option] for option in parameters if option not in LIMITS}
    for option, value in values.items():
        kind, may_be_none = _option_type(name, option)
        if may_be_none and value == _EMPTY[kind]:
            values[option] = None
    return values


def _option_type(name: str, option: str) -> tuple[type, bool]:
    """Return the type of an option and whether it may be None; raise BadOption."""
    hint = game_option_types(name).get(option)
    kinds = [kind for kind in joined_types(hint) if kind is not NoneType]
    may_be_none = NoneType in joined_types(hint)
    valid = (*_EMPTY,) if may_be_none else (*_EMPTY, bool)
    if len(kinds) != 1 or kinds[0] not in valid:
        expected = "int, float, str, bool, or one of the first three and None"
        raise BadOption(f"{name}: the option {option} is {hint}; OpenSpiel has {expected}")
    return kinds[0], may_be_none


def _check_limits(game: Game, length: int, repetitions: int) -> None:
    check_integer("max_game_length", length, 1, MAX_GAME_LENGTH)
    if repetitions:
        check_integer("repetitions", repetitions, 2, note=", or 0 for no limit")
    if repetitions and game.repetition_limit:
        expected = f"0 for {game.name}, whose own rules end a game that repeats itself"
        raise BadOption(f"repetitions={repetitions!r}; expected: {expected}")


for _name in GAMES:
    register(_name)
