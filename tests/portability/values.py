"""Values that are the same on every processor, operating system and version of Python.

`python values.py` writes them to values.json: numbers of turns, a vector environment, learned
evaluations, and decisions of alpha-beta, `policy`, `ppo` and AlphaZero. `python values.py 5`
compares them, with five decisions of each player in each game; further arguments name games. It
needs the library with the extra `learned`, and nothing else.
"""

import hashlib
import json
import platform
import sys
from itertools import chain, count, islice
from pathlib import Path

import gymnasium
import numpy as np

import cc_env
from cc_env.core.rules import ONGOING
from cc_env.jit.simd import FEATURES
from cc_env.learned_evaluation.network_file import find_evaluation
from cc_env.match.openings import play_random_turns
from cc_env.match.referee import Clock
from cc_env.search.greedy import score_actions
from cc_env.verification.perft import perft

RECORDED = Path(__file__).with_name("values.json")
# Names and options of games, the depth of perft and the id of the environment.
GAMES = [
    ("capture_conquer", {}, 4, "cc_env/CaptureConquer-v0"),
    ("capture_conquer", {"size": 8}, 3, "cc_env/CaptureConquer-v0"),
    ("checkers", {}, 7, "cc_env/Checkers-v0"),
    ("mini_checkers", {}, 7, "cc_env/MiniCheckers-v0"),
    ("morris", {}, 3, "cc_env/Morris-v0"),
    ("cannon", {}, 3, "cc_env/Cannon-v0"),
]
PLAYERS = "minimax:depth=3,evaluation=learned", "policy", "ppo", "alphazero:simulations=64"
# Positions of each game. They follow 0 to 39 random turns, the first few from all parts of a game.
POSITIONS, STRIDE = 40, 17
STEPS, BOARDS = 60, 8


def _hash(*arrays):
    """Return 16 hex digits from the bytes of arrays."""
    return hashlib.sha256(b"".join(np.asarray(array).tobytes() for array in arrays)).hexdigest()[
        :16
    ]


def _environment(environment, options):
    """Return a hash of all that a vector environment returns in a few steps."""
    envs = gymnasium.make_vec(environment, num_envs=BOARDS, opponent="random", **options)
    observations, infos = envs.reset(seed=0)
    outputs = [observations, infos["action_mask"]]
    for _ in range(STEPS):
        *step, infos = envs.step(infos["action_mask"].argmax(1))
        outputs += [*step, infos["action_mask"]]
    return _hash(*outputs)


def _positions(game):
    """Return POSITIONS positions of random games that have not ended."""
    turns = (STRIDE * number % POSITIONS for number in count())
    seeds = (turn + number // POSITIONS * POSITIONS for number, turn in enumerate(turns))
    positions = (
        play_random_turns(game, seed % POSITIONS, np.random.default_rng(seed)) for seed in seeds
    )
    unfinished = (position for position in positions if game.outcome(position) == ONGOING)
    return list(islice(unfinished, POSITIONS))


def _evaluations(game, positions):
    """Return a hash of the values of all actions by the learned evaluation."""
    evaluation = find_evaluation(game, "learned")
    return _hash(*(score_actions(game, position, evaluation)[1] for position in positions))


def _decisions(spec, game, positions):
    """Return the actions of a player, and the hexadecimal digits of the values it assigns."""
    player = cc_env.make_player(spec, game)
    decisions = [
        player.for_new_game().choose(position, np.random.default_rng(0), Clock())
        if hasattr(player, "for_new_game")
        else player.choose(position, np.random.default_rng(0), Clock())
        for position in positions
    ]
    return [f"{decision.action} {float(decision.value or 0).hex()}" for decision in decisions]


def label(game):
    """Return the name and the options of a game of GAMES."""
    name, options, _, _ = game
    return " ".join([name, *(f"{key}={value}" for key, value in options.items())])


def measure(entry, decisions):
    """Yield the name and the value of each quantity of a game of GAMES.

    Each player takes this number of decisions.
    """
    name, options, depth, environment = entry
    game = cc_env.make_game(name, **options)
    positions = _positions(game)
    yield f"{label(entry)}: perft {depth}", perft(game, game.initial, depth)
    yield f"{label(entry)}: environment", _environment(environment, options)
    yield f"{label(entry)}: learned evaluation", _evaluations(game, positions)
    for spec in PLAYERS:
        yield f"{label(entry)}: {spec}", _decisions(spec, game, positions[:decisions])


def expected_value(recorded, name, decisions):
    """Return a recorded value, with this number of decisions."""
    value = recorded[name]
    return value[:decisions] if isinstance(value, list) else value


def main():
    """Write or compare the values; return the exit status."""
    decisions = int(sys.argv[1]) if sys.argv[1:] else POSITIONS
    games = [game for game in GAMES if label(game) in (sys.argv[2:] or map(label, GAMES))]
    recorded = json.loads(RECORDED.read_text()) if sys.argv[1:] else None
    print(platform.machine(), platform.python_version(), ",".join(sorted(FEATURES)), flush=True)
    values, different = {}, 0
    for name, value in chain.from_iterable(measure(game, decisions) for game in games):
        values[name] = value
        line = name
        if recorded and value != (expected := expected_value(recorded, name, decisions)):
            different += 1
            line += f": {value}; expected: {expected}"
        print(line, flush=True)
    if not recorded:
        RECORDED.write_text(json.dumps(values, indent=1) + "\n")
    print(f"{len(values)} values, {different} different")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
