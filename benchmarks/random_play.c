/* Random play of C&C in which every different move of every position is listed.
 *
 *   cc -O3 -march=native -shared -fPIC -o random_play.so random_play.c
 *
 * As one would write it in C, by hand: sets of cells are 64-bit words on a frame of 8 by 8, cell
 * (r, c) is bit 8r + c; jump chains are walked depth first, and a move that several chains make is
 * listed once, because the ends of the chains of a piece are kept as a set for each captured piece.
 */
#include <stdint.h>

typedef uint64_t Set;

enum { FIRST, SECOND, NOBODY = 64, MOST_MOVES = 8192, DEEPEST = 64 };

typedef struct { uint8_t start, end, victim; } Move; /* victim NOBODY: captures nothing */
typedef struct { Set pieces[2]; int mover; } Position;
typedef struct { Set empty, found[65], victims; } Walk; /* found[victim]: where chains end */

static Set BOARD, MIDDLES[64]; /* MIDDLES: the neighbours that a hop inside the board goes over */
static int TARGET[2];
static const Set NOT_FIRST = 0xFEFEFEFEFEFEFEFEu, NOT_LAST = 0x7F7F7F7F7F7F7F7Fu;

static inline Set bit(int cell) { return (Set)1 << cell; }
static inline int lowest(Set set) { return __builtin_ctzll(set); }
static inline int count(Set set) { return __builtin_popcountll(set); }

static void make_tables(int size)
{
    BOARD = 0;
    for (int row = 0; row < size; row++)
        for (int column = 0; column < size; column++) {
            Set middles = 0;
            for (int down = -1; down <= 1; down++)
                for (int right = -1; right <= 1; right++) {
                    int r = row + 2 * down, c = column + 2 * right;
                    if ((down || right) && r >= 0 && r < size && c >= 0 && c < size)
                        middles |= bit(8 * (row + down) + column + right);
                }
            MIDDLES[8 * row + column] = middles;
            BOARD |= bit(8 * row + column);
        }
    TARGET[FIRST] = 9 * (size - 1);
    TARGET[SECOND] = 0;
}

static Position initial(int size)
{
    Position position = {{0, 0}, FIRST};
    int corner = size == 4 ? 2 : size == 8 ? 4 : 3;
    for (int row = 0; row < corner; row++)
        for (int column = 0; row + column < corner; column++) {
            position.pieces[FIRST] |= bit(8 * row + column);
            position.pieces[SECOND] |= bit(8 * (size - 1 - row) + size - 1 - column);
        }
    return position;
}

static inline Set steps(Set start, Set empty, int mover)
{
    if (mover == FIRST)
        return (((start << 1 | start << 9) & NOT_FIRST) | start << 8) & empty;
    return (((start >> 1 | start >> 9) & NOT_LAST) | start >> 8) & empty;
}

/* The pieces of `own` that can hop at all. */
static inline Set jumpers(Set own, Set occupied, Set empty)
{
    const Set east = empty & NOT_FIRST & NOT_FIRST << 1, west = empty & NOT_LAST & NOT_LAST >> 1;
    Set found = (east >> 1 & occupied) >> 1 | (east >> 9 & occupied) >> 9;
    found |= (east << 7 & occupied) << 7 | (west << 1 & occupied) << 1;
    found |= (west << 9 & occupied) << 9 | (west >> 7 & occupied) >> 7;
    found |= (empty >> 8 & occupied) >> 8 | (empty << 8 & occupied) << 8;
    return own & found;
}

/* Walk on from `cell` after the capture: add to `ends` where chains over `middles` end. */
static void walk_on(int cell, Set middles, Set empty, Set *ends)
{
    for (Set over = MIDDLES[cell] & middles; over; over &= over - 1) {
        int middle = lowest(over), end = 2 * middle - cell;
        if (empty & bit(end)) {
            *ends |= bit(end);
            walk_on(end, middles ^ bit(middle), empty, ends);
        }
    }
}

/* Walk on from `cell` over `own` pieces, capturing the first of `enemy` that is hopped over. */
static void walk(int cell, Set own, Set enemy, Walk *found)
{
    for (Set over = MIDDLES[cell] & (own | enemy); over; over &= over - 1) {
        int middle = lowest(over), end = 2 * middle - cell;
        if (!(found->empty & bit(end)))
            continue;
        if (own & bit(middle)) {
            found->found[NOBODY] |= bit(end);
            walk(end, own ^ bit(middle), enemy, found);
        } else {
            if (!(found->victims & bit(middle))) {
                found->victims |= bit(middle);
                found->found[middle] = 0;
            }
            found->found[middle] |= bit(end);
            walk_on(end, (own | enemy) ^ bit(middle), found->empty, &found->found[middle]);
        }
    }
}

static inline int write(int start, Set ends, int victim, Move *moves, int so_far)
{
    for (; ends; ends &= ends - 1)
        moves[so_far++] = (Move){(uint8_t)start, (uint8_t)lowest(ends), (uint8_t)victim};
    return so_far;
}

/* Write every different move into `moves`; return how many. */
static inline int list_moves(Set own, Set enemy, int mover, Move *moves)
{
    Set occupied = own | enemy, empty = BOARD & ~occupied;
    Set jumping = jumpers(own, occupied, empty);
    int listed = 0;
    for (Set left = own; left; left &= left - 1) {
        int start = lowest(left);
        Set quiet = steps(bit(start), empty, mover);
        if (jumping & bit(start)) {
            Walk found;
            found.empty = empty;
            found.victims = found.found[NOBODY] = 0;
            walk(start, own ^ bit(start), enemy, &found);
            quiet |= found.found[NOBODY]; /* a step and a chain never end on the same cell */
            for (Set victims = found.victims; victims; victims &= victims - 1) {
                int victim = lowest(victims);
                listed = write(start, found.found[victim], victim, moves, listed);
            }
        }
        listed = write(start, quiet, NOBODY, moves, listed);
    }
    return listed;
}

static inline int list(const Position *position, Move *moves)
{
    const Set *pieces = position->pieces;
    if (position->mover == FIRST)
        return list_moves(pieces[FIRST], pieces[SECOND], FIRST, moves);
    return list_moves(pieces[SECOND], pieces[FIRST], SECOND, moves);
}

/* Make a move; return whether it wins. */
static inline int make(Position *position, Move move)
{
    int mover = position->mover;
    position->pieces[mover] ^= bit(move.start) | bit(move.end);
    if (move.victim != NOBODY)
        position->pieces[!mover] ^= bit(move.victim);
    position->mover = !mover;
    return move.end == TARGET[mover]
           || (count(position->pieces[!mover]) == 1 && count(position->pieces[mover]) > 1);
}

static inline uint64_t next_random(uint64_t *state) /* SplitMix64 */
{
    uint64_t word = *state += 0x9E3779B97F4A7C15u;
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9u;
    word = (word ^ word >> 27) * 0x94D049BB133111EBu;
    return word ^ word >> 31;
}

/* Play games from the start; return the moves made, and add those listed to `listed`. */
int64_t play(int size, int games, uint64_t seed, int64_t *listed)
{
    static Move moves[MOST_MOVES];
    int64_t made = 0;
    make_tables(size);
    const Position start = initial(size);
    for (int game = 0; game < games; game++) {
        Position position = start;
        int won = 0;
        while (!won) {
            int choices = list(&position, moves);
            if (!choices)
                break;
            won = make(&position, moves[(next_random(&seed) >> 32) * (uint64_t)choices >> 32]);
            *listed += choices;
            made++;
        }
    }
    return made;
}

static int64_t count_sequences(const Position *position, int depth, Move *moves)
{
    int choices = list(position, moves);
    int64_t total = 0;
    if (depth == 1)
        return choices;
    for (int index = 0; index < choices; index++) {
        Position after = *position;
        if (!make(&after, moves[index]))
            total += count_sequences(&after, depth - 1, moves + choices);
    }
    return total;
}

/* Return the number of sequences of 1 to DEEPEST moves; games that are over go on no further. */
int64_t perft(int size, int depth)
{
    static Move moves[DEEPEST * MOST_MOVES];
    make_tables(size);
    const Position start = initial(size);
    return count_sequences(&start, depth, moves);
}
