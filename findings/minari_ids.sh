#!/usr/bin/env bash
# minari 0.5.4: which data set ids are valid.
#
# The docstring of parse_dataset_id and the message of its error describe an id as
# (namespace/)(dataset_name)-v(version). Two ids do not follow from that:
#
# - A namespace of one character is malformed: "t/ck-v0" raises ValueError, "tt/ck-v0" does not. The
#   pattern of a namespace is a first character, any number of characters, and one or more.
# - An id without a version raises TypeError, from int(None), not the documented error.
#
# Expected output:
#   tt/ck-v0: ('tt', 'ck', 0)
#   t/ck-v0: ValueError: Malformed dataset ID: t/ck-v0.
#   tt/ck: TypeError: int() argument must be a string, a bytes-like object or a real number, …
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet "minari==0.5.4" "gymnasium==1.4.0"
"$folder/venv/bin/python" - <<'PYTHON'
import sys

from minari.dataset.minari_dataset import parse_dataset_id

seen = {}
for name in ("tt/ck-v0", "t/ck-v0", "tt/ck"):
    try:
        seen[name] = repr(parse_dataset_id(name))
    except Exception as error:
        seen[name] = f"{type(error).__name__}: {str(error).split(' (')[0]}"
    print(f"{name}: {seen[name]}")
expected = {
    "tt/ck-v0": "('tt', 'ck', 0)",
    "t/ck-v0": "ValueError: Malformed dataset ID: t/ck-v0.",
}
if any(seen[name] != text for name, text in expected.items()):
    sys.exit("the ids that Minari accepts have changed")
if not seen["tt/ck"].startswith("TypeError: int() argument must be"):
    sys.exit("the error for an id without a version has changed")
PYTHON
