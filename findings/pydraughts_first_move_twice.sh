#!/usr/bin/env bash
# pydraughts 0.6.7 reads its own English games with the first move twice.
#
# It numbers the moves of White, so that a game that Black begins is
#     1... 11-15 2. 23-19 8-11 3. 22-17 *
# and writes a FEN tag with the start position. With a FEN in which Black moves first, PDNReader
# returns the first move twice, and with the usual numbers of PDN it also omits the second move.
# Without a FEN it reads the usual numbers correctly.
#
# Expected output:
#     written: 1... 11-15 2. 23-19 8-11 3. 22-17 *
#     read again: 11-15 11-15 23-19 8-11 22-17
#     usual numbers and FEN: 11-15 11-15 8-11 22-17
#     usual numbers: 11-15 23-19 8-11 22-17
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pydraughts==0.6.7

cat > "$folder/games.py" <<'PYTHON'
import re
import sys

from draughts import Board, Move
from draughts.PDN import PDNReader, PDNWriter

board = Board(variant="english")
for move in ("11-15", "23-19", "8-11", "22-17"):
    board.push(Move(board, pdn_move=move))
path = sys.argv[1]
PDNWriter(path, board=board)
with open(path, encoding="utf8") as file:
    text = file.read()
print("written:", text.strip().splitlines()[-1])
print("read again:", *PDNReader(text).games[0].moves)
tags, moves = text.split("\n\n", 1)
usual = "1. 11-15 23-19 2. 8-11 22-17 *\n"
print("usual numbers and FEN:", *PDNReader(f"{tags}\n\n{usual}").games[0].moves)
tags = re.sub(r"\[FEN .*", "", tags)
print("usual numbers:", *PDNReader(f"{tags}\n{usual}").games[0].moves)
PYTHON

output=$("$folder/venv/bin/python" "$folder/games.py" "$folder/game.pdn")
echo "$output"
expected='written: 1... 11-15 2. 23-19 8-11 3. 22-17 *
read again: 11-15 11-15 23-19 8-11 22-17
usual numbers and FEN: 11-15 11-15 8-11 22-17
usual numbers: 11-15 23-19 8-11 22-17'
if [ "$output" != "$expected" ]; then
    echo "pydraughts behaves differently; expected:" >&2
    echo "$expected" >&2
    exit 1
fi
