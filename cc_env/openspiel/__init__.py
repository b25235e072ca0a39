"""Our games in OpenSpiel (extra `openspiel`): importing this module registers all of them there.

    import cc_env.openspiel
    import pyspiel

    game = pyspiel.load_game("python_cc_env_capture_conquer(size=4)")
    state = game.new_initial_state()
    while not state.is_terminal():
        state.apply_action(state.legal_actions()[0])
    print(state, state.returns())

    bots = [cc_env.openspiel.PlayerBot(game, name) for name in ("minimax:normal", "random")]
    print(pyspiel.evaluate_bots(game.new_initial_state(), bots, 0))

Names      python_cc_env_NAME, NAME as in `cc_env.make_game`. `register` adds another game.

Parameters The game's own options, with their defaults; an option that may be None is None where
           the parameter is 0 or an empty text. And, of every game:
           position          where it begins, as text; empty: at the game's own start
           max_game_length   decisions after which the game is a draw (400)
           repetitions       occurrences of a position that make the game a draw, 0 (never) or 2 and
                             more; refused for a game with a repetition rule of its own, Cannon
           utility_margin    false: returns are 1, -1 and 0; true: the winner's is the margin of the
                             victory, as in `Game.margin`

Actions    One decision each, with its id in the frame of the player to move, as everywhere in
           cc_env. Where a turn takes several, the same player is to move again. Texts of actions
           are our notation.

Tensors    float32[C + 2, H, W], the same for observation and information state: the C planes of
           H rows and W columns that `game.game.planes` names, as the player asked for sees them, in
           the frame of that player; a plane of ones for player 0; and a plane of ones for the
           player to move. The last two let a network tell for whom a value is, which OpenSpiel's
           AlphaZero needs. Neither the number of decisions nor earlier positions are in them.

Strings    Of an observation, the position; of an information state, the history; of a state, the
           position and whatever else the rest of the game depends on, so that algorithms may take
           equal strings for equal states, as value iteration does.

A state is a value of compiled code: applying an action, or cloning, takes some microseconds.

OpenSpiel 2.0.2 crashes where its C++ `MCTSBot.step` is called from Python, on any game in Python;
`mcts_search(state).best_child().action` and `pyspiel.evaluate_bots` do the same and work.
"""

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, ClassVar, NamedTuple, Union, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.envs.arguments import as_seed
from cc_env.errors import BadOption, IllegalAction, MissingExtra, is_integer
from cc_env.games.factory import game_option_defaults, game_option_types, make_game
from cc_env.match.referee import Clock, Player, player_for_new_game
from cc_env.openspiel import course
from cc_env.players.specs import as_player
from cc_env.registry.catalogue import GAMES

try:
    import pyspiel
    from open_spiel.python.observation import IIGObserverForPublicInfoGame
except ImportError as missing:
    raise MissingExtra("cc_env.openspiel", "open_spiel", "openspiel") from missing

LIMITS = {"position": "", "max_game_length": 400, "repetitions": 0, "utility_margin": False}
LONGEST = 2**20  # of `max_game_length`
_EMPTY = {int: 0, float: 0.0, str: ""}  # what stands for None


class _Node(NamedTuple):
    """What a state is; the states after it have others."""

    row: NDArray[np.uint64]  # as `course` has it
    legal: list[int]
    mover: int  # 0, 1 or course.TERMINAL
    lead: int  # of the first player at the end, 0 before

    def __deepcopy__(self, memo: object) -> "_Node":
        return self  # nothing changes it


class BoardGame(pyspiel.Game):
    """One of our games, for OpenSpiel; `game` is the `cc_env.core.game.Game` that it is."""

    name: ClassVar[str]  # in `cc_env.games`
    kind: ClassVar[Any]  # its GameType

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        """Make the game with all parameters of its GameType; raise BadOption, BadPosition."""
        limits = {limit: parameters[limit] for limit in LIMITS}
        self.game = make_game(self.name, **_options(self.name, parameters))
        _check(self.game, limits["max_game_length"], limits["repetitions"])
        most = self.game.max_margin if limits["utility_margin"] else 1
        info = pyspiel.GameInfo(
            num_distinct_actions=self.game.num_actions,
            max_chance_outcomes=0,
            num_players=2,
            min_utility=-most,
            max_utility=most,
            utility_sum=0.0,
            max_game_length=limits["max_game_length"],
        )
        defaults = self.kind.parameter_specification
        changed = {key: value for key, value in parameters.items() if value != defaults[key]}
        super().__init__(self.kind, info, changed)
        self.most = most  # that anybody can win
        self._limits = limits["max_game_length"], limits["repetitions"]
        self._num_actions = self.game.num_actions
        self.start = self._begin(limits["position"])

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.name, str(self))

    def new_initial_state(self, position: str | None = None) -> "BoardState":
        """Return a state at the start, or in a position of this text; raise BadPosition."""
        return BoardState(self, self.start if position is None else self._begin(position))

    def make_py_observer(self, kind: Any = None, params: Any = None) -> Any:
        """Return a PlanesObserver, or one of OpenSpiel's where nothing public is asked for.

        Raises BadOption for parameters.
        """
        if params:
            raise BadOption(f"observers of our games have no parameters, such as {params}")
        if kind and not kind.public_info:
            return IIGObserverForPublicInfoGame(kind, None)
        return PlanesObserver(self.game, of_history=bool(kind and kind.perfect_recall))

    def after(self, node: _Node, action: int) -> _Node:
        """Return what follows upon an action; raise IllegalAction where it is not legal."""
        if action not in node.legal:
            raise self._illegal(node, action)
        return self._node_after(node.row.copy(), action)

    def position(self, row: NDArray[np.uint64]) -> Position:
        """Return the position of a row, uint64[fields + 5 + keys], see `course`."""
        return type(self.game.initial)(*row[: len(self.game.initial)])

    def _begin(self, text: str) -> _Node:
        position = self.game.from_text(text) if text else self.game.initial
        return self._node_after(course.begin(self.game, position, *self._limits), course.NOTHING)

    def _node_after(self, row: NDArray[np.uint64], action: int) -> _Node:
        legal = np.empty(self._num_actions, np.int32)
        count, mover, lead = course.play(self.game.initial, row, action, legal)
        return _Node(row, legal[:count].tolist(), int(mover), int(lead))

    def _illegal(self, node: _Node, action: object) -> IllegalAction:
        position = self.position(node.row)
        if node.mover != course.TERMINAL:
            return self.game.illegal_action(position, action)
        text = self.game.to_text(position)
        return IllegalAction(f"action {action!r} is not legal in '{text}'; the game is over")


class BoardState(pyspiel.State):
    """A state of a `BoardGame`."""

    def __init__(self, game: BoardGame, node: _Node) -> None:
        """Make a state that is as `node` says; games do that."""
        super().__init__(game)
        self.node = node

    @property
    def position(self) -> Position:
        """The position, for the `game` of the BoardGame."""
        return self.get_game().position(self.node.row)

    def current_player(self) -> int:
        """Return who is to move, 0 or 1; `pyspiel.PlayerId.TERMINAL` when the game is over."""
        return self.node.mover

    def is_terminal(self) -> bool:
        """Return whether the game is over."""
        return self.node.mover == course.TERMINAL

    def returns(self) -> list[float]:
        """Return what both have won: 0 for a draw and before the end."""
        most = self.get_game().most
        won = float(max(-most, min(self.node.lead, most)))
        return [won, -won]

    def legal_actions(self, player: int | None = None) -> list[int]:
        """Return the legal actions, ascending; none for a player who is not to move.

        The inherited method would do, and call five others of Python's.
        """
        return list(self.node.legal) if player in (None, self.node.mover) else []

    def _legal_actions(self, player: int) -> list[int]:
        return self.node.legal

    def _apply_action(self, action: int) -> None:
        self.node = self.get_game().after(self.node, action)

    def _action_to_string(self, player: int, action: int) -> str:
        game = self.get_game().game
        if not is_integer(action, 0, game.num_actions - 1):
            raise BadOption(f"action {action!r}; it is 0 to {game.num_actions - 1}")
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
    """Writes the tensor of a state into `tensor`, float32[(C + 2) * H * W]; see the module."""

    def __init__(self, game: Game, *, of_history: bool) -> None:
        """Observe states of a game; strings are the history, or the position."""
        planes, rows, columns = game.observation_shape
        shaped = np.zeros((planes + 2, rows, columns), np.float32)
        self.tensor, self.dict = shaped.reshape(-1), {"observation": shaped}
        self._game, self._of_history = game, of_history
        self._seen = np.empty(game.observation_shape, np.int8)

    def set_from(self, state: BoardState, player: int) -> None:
        """Write what a player sees; raise BadOption where `player` is not 0 or 1."""
        if player not in (0, 1):
            raise BadOption(f"player={player!r}; whoever observes is player 0 or 1")
        planes = self.dict["observation"]
        course.observe(self._game.initial, state.node.row, player, self._seen)
        planes[:-2] = self._seen
        planes[-2] = player == 0
        planes[-1] = player == state.node.mover

    def string_from(self, state: BoardState, player: int) -> str:
        """Return the position as text, or the history."""
        return str(state.history_str() if self._of_history else self._game.to_text(state.position))


class PlayerBot(pyspiel.Bot):
    """A player of ours as a bot of OpenSpiel's; it starts afresh in each game."""

    def __init__(self, game: BoardGame, player: str | Player, *, seed: int | None = None) -> None:
        """Take a player by spoken name, such as "minimax:normal", or as itself.

        Its randomness comes from `seed`. Raises BadOption where `game` is not one of ours, or
        there is no such player.
        """
        super().__init__()
        if not isinstance(game, BoardGame):
            raise BadOption(f"{game} is not a game of ours; wanted: python_cc_env_…")
        self._game, self._rng = game, np.random.default_rng(as_seed(seed))
        self._made = as_player(player, game.game)
        self._player = player_for_new_game(self._made)

    def restart(self) -> None:
        """Forget the game."""
        self._player = player_for_new_game(self._made)

    def restart_at(self, state: BoardState) -> None:
        """Forget the game, whatever state the next one begins in."""
        self.restart()

    def step(self, state: BoardState) -> int:
        """Return an action; raise BadOption for a state of another game, IllegalAction."""
        if state.get_game() != self._game:
            raise BadOption(f"a state of {state.get_game()}; this bot plays {self._game}")
        action = self._player.choose(state.position, self._rng, Clock()).action
        return self._game.game.check_action(state.position, action)


def register(name: str) -> str:
    """Register the game `name`, as `cc_env.make_game` knows it; return its name in OpenSpiel.

    Raises BadOption where there is no such game, or OpenSpiel has no parameters like its
    options.
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
    # A class, as OpenSpiel keeps it until after Python has ended, when nothing can be freed.
    registered = type(kind.short_name, (BoardGame,), {"name": name, "kind": kind})
    pyspiel.register_game(kind, registered)
    return str(kind.short_name)


def _again(name: str, written: str) -> BoardGame:
    register(name)
    game: BoardGame = pyspiel.load_game(written)
    return game


def _specification(name: str) -> dict[str, Any]:
    """Return the parameters of a game with their defaults, as OpenSpiel has them."""
    values = dict(LIMITS)
    for option, default in game_option_defaults(name).items():
        if option in LIMITS:
            raise BadOption(f"{name}: the option {option} would hide OpenSpiel's parameter")
        kind, _ = _kind(name, option)
        values[option] = _EMPTY[kind] if default is None else default
    return values


def _options(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a game that OpenSpiel's parameters are."""
    chosen = {option: parameters[option] for option in parameters if option not in LIMITS}
    for option, value in chosen.items():
        kind, may_be_none = _kind(name, option)
        if may_be_none and value == _EMPTY[kind]:
            chosen[option] = None
    return chosen


def _kind(name: str, option: str) -> tuple[type, bool]:
    """Return the type of an option, and whether it may be None, too; raise BadOption."""
    hint = game_option_types(name).get(option)
    hints = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = [hint for hint in hints if hint is not NoneType]
    may_be_none = len(kinds) < len(hints)
    known = (*_EMPTY, bool) if not may_be_none else (*_EMPTY,)
    if len(kinds) != 1 or kinds[0] not in known:
        would_do = "int, float, str, bool, or one of the first three and None"
        raise BadOption(f"{name}: the option {option} is {hint}; OpenSpiel has {would_do}")
    return kinds[0], may_be_none


def _check(game: Game, longest: int, repetitions: int) -> None:
    if not is_integer(longest, 1, LONGEST):
        raise BadOption(f"max_game_length={longest!r}; it is 1 to {LONGEST:,}")
    if repetitions and not is_integer(repetitions, 2):
        raise BadOption(f"repetitions={repetitions!r}; it is 2 or more, or 0 for no limit")
    if repetitions and game.repetition_limit:
        would_do = f"it is 0 for {game.name}, whose own rules end a game that repeats itself"
        raise BadOption(f"repetitions={repetitions!r}; {would_do}")


for _name in GAMES:
    register(_name)
