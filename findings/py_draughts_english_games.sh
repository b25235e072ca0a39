#!/usr/bin/env bash
# py-draughts 1.10.1 ignores the GameType when it reads PDN, and its results start with White's score.
#
# In AmericanBoard White begins. The GameType 21 of English draughts, in which Black begins, does
# not change that: the game is read only if a FEN tag repeats the start position. The result 1-0 is
# a win of White; in PDN 2.0 the first score is Black's in English draughts. A capture can be
# declined, although captures are mandatory in American checkers.
#
# Expected output:
#     GameType 21: ValueError
#     GameType 21 and FEN: read
#     numbers: 1... 11-15 2. 23-19 8-11 3. 22-17 *
#     White takes the last piece: 1-0
#     legal moves with a capture: 18-15, 18x9
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet py-draughts==1.10.1

cat > "$folder/games.py" <<'PYTHON'
from draughts import AmericanBoard

TAG = '[GameType "21,B,8,8,N1,0"]\n'
FEN = '[FEN "B:W21-32:B1-12"]\n'
MOVES = "1. 11-15 23-19 2. 8-11 22-17 *"
try:
    AmericanBoard.from_pdn(TAG + MOVES)
    print("GameType 21: read")
except ValueError:
    print("GameType 21: ValueError")
board = AmericanBoard.from_pdn(TAG + FEN + MOVES)
print("GameType 21 and FEN: read")
print("numbers:", board.pdn.splitlines()[-1])
board = AmericanBoard.from_fen("W:W18:B14")
board.push(next(move for move in board.legal_moves if move.captured_list))
print("White takes the last piece:", board.result)
board = AmericanBoard.from_fen("W:W18:B14")
print("legal moves with a capture:", ", ".join(sorted(map(str, board.legal_moves))))
PYTHON

output=$("$folder/venv/bin/python" "$folder/games.py")
echo "$output"
expected='GameType 21: ValueError
GameType 21 and FEN: read
numbers: 1... 11-15 2. 23-19 8-11 3. 22-17 *
White takes the last piece: 1-0
legal moves with a capture: 18-15, 18x9'
if [ "$output" != "$expected" ]; then
    echo "py-draughts behaves differently; expected:" >&2
    echo "$expected" >&2
    exit 1
fi
