"""Random play in C&C with all moves listed at every turn, as in the C program of `by_hand`.

A move is a turn: its start, its end and its capture.
"""

import itertools

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Chunk
from cc_env.core import random_streams, rules
from cc_env.core.bitboard import ONE, ZERO, lowest_bit, lowest_index, popcount
from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.games.capture_conquer.chains import (
    Field,
    Hops,
    Word,
    ends_capturing,
    hop_landings,
    hops_over,
    reachable,
    remove_victim,
    takeoffs,
)
from cc_env.games.capture_conquer.rules import BOARD, is_won, play_jump, steps
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw

_1, _2, _7, _8, _9, _14, _16, _18 = (np.uint64(n) for n in (1, 2, 7, 8, 9, 14, 16, 18))
_FOUR, _END, _VICTIM, _CELL, _NO_CELL = (np.uint64(n) for n in (4, 8, 16, 63, 64))


def play(game: Game, count: int = 500) -> Chunk:
    """Return random play, `count` games per chunk, with all moves listed at every turn."""
    moves, listed = np.empty(game.num_actions * 64, np.uint32), np.zeros(1, np.int64)
    seeds = itertools.count()

    def chunk() -> int:
        state = random_streams.streams(next(seeds), 1)[0]
        return int(play_listed(game.initial, count, state, moves, listed))

    return chunk


@jit
def play_listed(
    start: Position,
    games: int,
    state: np.uint64,
    moves: NDArray[np.uint32],
    listed: NDArray[np.int64],
) -> rules.Int:
    """Play games in which all distinct moves are equally likely; return the turns played.

    `moves` uint32[num_actions * 64] is a buffer; the lengths of all lists are added to `listed`,
    int64[1].
    """
    moves = as_raw(moves)
    turns = 0
    for _ in range(games):
        position = start
        while not is_won(position):
            count = list_moves(position, moves)
            if not count:
                break
            move = moves[np.uint64(random_streams.below(state, np.int64(count)))]
            state = random_streams.advance(state)
            position = _play_move(position, np.uint64(move))
            listed[0] += np.int64(count)
            turns += 1
    return turns


@jit
def _play_move(position: Position, move: np.uint64) -> Position:
    """Play a move of `list_moves`."""
    start, end, captured = move & _CELL, move >> _END & _CELL, move >> _VICTIM
    victim = ZERO if captured == _NO_CELL else ONE << captured
    return play_jump(position, ONE << start, ONE << end, victim)


@jit
def list_moves(position: Position, moves: NDArray[np.uint32]) -> np.uint64:
    """Write all distinct moves into `moves` uint32[num_actions * 64]; return their number.

    Bits 0-7 of a move are the start cell, bits 8-15 the end cell, bits 16-23 the captured cell or
    64.
    """
    own, occupied = position.own, position.own | position.enemy
    empty = BOARD[position.size] & ~occupied
    field = Field(own, occupied, empty, hops_over(occupied, empty))
    chains = own & _double_takeoffs(field.hops)
    count = _list_single_hop_moves(own ^ chains, position.enemy, own, empty, moves)
    over_own, hop_starts = hops_over(own, empty), takeoffs(field.hops)
    capture_starts = takeoffs(hops_over(position.enemy, empty))
    while chains:
        start = lowest_bit(chains)
        chains ^= start
        before = reachable(start, over_own, own, empty)
        count = _write(start, before ^ start | steps(start, empty), ZERO, moves, count)
        if not before & capture_starts:
            continue
        victims = _hop_middles(before, field.hops) & position.enemy
        later = _hop_middles(before ^ start, field.hops)
        while victims:
            victim = lowest_bit(victims)
            victims ^= victim
            ends = _behind(start, victim)
            if victim & later:
                ends = ends_capturing(start, before, victim, empty, remove_victim(victim, field))
            elif ends & hop_starts:
                after = remove_victim(victim, field)
                ends = reachable(ends, after.hops, after.occupied, empty)
            count = _write(start, ends, victim, moves, count)
    return count


@jit
def _list_single_hop_moves(
    pieces: Word, enemy: Word, own: Word, empty: Word, moves: NDArray[np.uint32]
) -> np.uint64:
    """Write the moves of pieces that can hop at most once; return their number."""
    over_own, over_enemy = hops_over(own, empty), hops_over(enemy, empty)
    capturers = pieces & takeoffs(over_enemy)
    count = ZERO
    while pieces:
        start = lowest_bit(pieces)
        pieces ^= start
        ends = steps(start, empty) | hop_landings(start, over_own)
        count = _write(start, ends, ZERO, moves, count)
    while capturers:
        start = lowest_bit(capturers)
        capturers ^= start
        victims = _hop_middles(start, over_enemy)
        while victims:
            victim = lowest_bit(victims)
            victims ^= victim
            moves[count] = _move(start, victim) | lowest_index(_behind(start, victim)) << _END
            count += ONE
    return count


@jit
def _behind(start: Word, middle: Word) -> Word:
    """Return the cell that a hop from `start` over `middle` lands on; the hop must exist."""
    return ONE << ((lowest_index(middle) << ONE) - lowest_index(start))


@jit
def _move(start: Word, victim: Word) -> np.uint64:
    """Return the bits of a move without its end cell."""
    return lowest_index(start) | lowest_index(victim) << _VICTIM


@jit
def _write(
    start: Word, ends: Word, victim: Word, moves: NDArray[np.uint32], count: np.uint64
) -> np.uint64:
    """Append moves in groups of four (fewer branch misses); surplus ones are overwritten later."""
    move = _move(start, victim)
    total = count + np.uint64(popcount(ends))
    while count < total:
        for offset in range(_FOUR):
            moves[count + np.uint64(offset)] = move | lowest_index(ends) << _END
            ends &= ends - ONE
        count += _FOUR
    return total


@jit
def _double_takeoffs(hops: Hops) -> Word:
    """Return the cells from which two hops in a row are possible."""
    more = takeoffs(hops)
    east = hops.east & more >> _2 | hops.southeast & more >> _18
    west = hops.west & more << _2 | hops.northwest & more << _18
    rising = hops.northeast & more << _14 | hops.southwest & more >> _14
    return east | west | rising | hops.south & more >> _16 | hops.north & more << _16


@jit
def _hop_middles(cells: Word, hops: Hops) -> Word:
    """Return the middles of single hops from any of `cells`."""
    east = (cells & hops.east) << _1 | (cells & hops.southeast) << _9
    west = (cells & hops.west) >> _1 | (cells & hops.northwest) >> _9
    rising = (cells & hops.northeast) >> _7 | (cells & hops.southwest) << _7
    return east | west | rising | (cells & hops.south) << _8 | (cells & hops.north) >> _8
