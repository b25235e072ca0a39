"""Tables of a game's facts, read from the game itself."""

import inspect
import posixpath
import re
from pathlib import Path
from typing import Any

from cc_env.core.game import Game
from cc_env.games.factory import (
    game_option_defaults,
    game_option_types,
    game_option_values,
    make_game,
)
from cc_env.registry.catalogue import GAMES
from cc_env.registry.options import joined_types, parse_options
from cc_env.rendering.picture import draw
from cc_env.rendering.svg import to_svg
from docs.make.blocks import Block, maker, table

DOCS = Path(__file__).parents[1]


@maker
def summary(block: Block) -> str:
    """Return a summary of an environment's spaces."""
    game = block.game()
    entry = GAMES[game.name]
    planes, rows, columns = game.observation_shape
    shape = f"({planes}, {rows}, {columns})"
    facts = {
        "Make": f'`gymnasium.make("{entry.environment}")`',
        "Action space": f"`Discrete({game.num_actions})`",
        "Observation space": f"`Box(0, 1, {shape}, int8)`",
        "Reward": "+1 for a win, −1 for a loss, 0 otherwise",
        "Players": f"{game.players[0]} (moves first), {game.players[1]}",
        "Name of the game": f"`{game.name}`",
    }
    return table(["", ""], ((f"**{name}**", value) for name, value in facts.items()))


@maker
def board(block: Block) -> str:
    """Return a picture of the start, or of the position that the text `position` writes."""
    game = block.game()
    text = block.texts.get("position")
    position = game.from_text(text) if text else game.initial
    alt = block.texts.get("alt", f"The start position of {game.name}")
    caption = block.texts.get("caption")
    return block.page.picture(to_svg(draw(game, position, caption=caption)), alt)


@maker
def planes(block: Block) -> str:
    """Return the table of planes, with the number of ones of each at the start."""
    game = block.game()
    observation = game.observe(game.initial)
    rows = (
        (index, name, int(plane.sum()))
        for index, (name, plane) in enumerate(zip(game.planes, observation, strict=True))
    )
    return table(["#plane", "what it shows", "#ones at the start"], rows)


@maker
def variants(block: Block) -> str:
    """Return a table of the spaces for several sets of options, one per argument."""
    name, *sets = block.words
    games = [make_game(name, **parse_options(values_text.split(","))) for values_text in sets]
    rows = (
        (f"`{options_text}`", game.num_actions, f"`{game.observation_shape}`", _pieces(game))
        for options_text, game in zip(sets, games, strict=True)
    )
    return table(["options", "#actions", "observation", "#pieces a side"], rows)


def _pieces(game: Game) -> int:
    letters = game.pieces(game.initial).values()
    return sum(letter.lower() == game.players[0][0] for letter in letters)


@maker
def options(block: Block) -> str:
    """Return the table of a game's options; the texts are their meanings."""
    name = block.words[0]
    defaults, types = game_option_defaults(name), game_option_types(name)
    valid_values = game_option_values(name)
    texts = block.texts_of(defaults)
    rows = []
    for option, default in defaults.items():
        values = ", ".join(f"`{value!r}`" for value in valid_values.get(option, ()))
        kind = _kind(types[option])
        rows.append((f"`{option}`", kind, f"`{default!r}`", values, texts[option]))
    return table(["option", "type", "default", "values", "meaning"], rows)


def _kind(hint: Any) -> str:
    """Return the name of a type, or of several."""
    names = [kind.__name__ for kind in joined_types(hint)]
    return " or ".join(f"`{name.replace('NoneType', 'None')}`" for name in names)


@maker
def endings(block: Block) -> str:
    """Return the table of a game's endings; the texts name the winners."""
    game = block.game()
    texts = block.texts_of(game.endings)
    rows = (
        (f"`{word}`", sentence.format(loser="the loser"), texts[word])
        for word, sentence in game.endings.items()
    )
    return table(['`info["ending"]`', "what happened", "result"], rows)


@maker
def arguments(block: Block) -> str:
    """Return the table of the keywords of an environment's class; the texts are their meanings."""
    from cc_env.envs.single import BoardGameEnv
    from cc_env.envs.vector import BoardGameVectorEnv

    environment = {"single": BoardGameEnv, "vector": BoardGameVectorEnv}[block.words[0]]
    parameters = {
        name: parameter
        for name, parameter in inspect.signature(environment).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY or name == "num_envs"
    }
    texts = block.texts_of(parameters)
    rows = (
        (f"`{name}`", f"`{_default(parameter.default)}`", texts[name])
        for name, parameter in parameters.items()
    )
    return table(["keyword", "default", "meaning"], rows)


def _default(value: object) -> str:
    return str(getattr(value, "name", None) or repr(value))


@maker
def code(block: Block) -> str:
    """Return parts of a Python file in the folder of the page, by default all of it."""
    name, *parts = block.words
    text = (DOCS / posixpath.dirname(block.page.path) / name).read_text(encoding="utf-8")
    pieces = re.split(r"^# part: (.*)\n", text, flags=re.MULTILINE)
    source = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    sources = [source[part].strip() for part in parts] or [text.strip()]
    return "\n\n".join(f"```python\n{part}\n```" for part in sources)
