#!/usr/bin/env bash
# numba 0.68.1: NUMBA_CPU_NAME does not restrict the instructions of the generated code.
#
# With NUMBA_CPU_NAME=x86-64, which names a processor with SSE2 alone, numba still generates code
# for all features of the host, such as AVX: it passes them to LLVM beside the name. Code for older
# processors also needs NUMBA_CPU_FEATURES. One name is an exception: "generic" clears the features.
#
# Expected output (the features are compared, so that it is the same on every machine):
#     x86-64: features of the host
#     x86-64, NUMBA_CPU_FEATURES=+sse2: +sse2
#     generic: no features
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numba==0.68.1

cat > "$folder/features.py" <<'PYTHON'
from llvmlite import binding
from numba import njit
from numba.core.registry import cpu_target


@njit
def add(first, second):
    return first + second


add(1, 2)
used = cpu_target.target_context.codegen()._tm_features
host = binding.get_host_cpu_features().flatten()
print({host: "features of the host", "": "no features"}.get(used, used))
PYTHON

python="$folder/venv/bin/python"
output=$(
    echo "x86-64: $(NUMBA_CPU_NAME=x86-64 "$python" "$folder/features.py")"
    echo "x86-64, NUMBA_CPU_FEATURES=+sse2: $(
        NUMBA_CPU_NAME=x86-64 NUMBA_CPU_FEATURES=+sse2 "$python" "$folder/features.py")"
    echo "generic: $(NUMBA_CPU_NAME=generic "$python" "$folder/features.py")"
)
echo "$output"
expected="x86-64: features of the host
x86-64, NUMBA_CPU_FEATURES=+sse2: +sse2
generic: no features"
[ "$output" = "$expected" ] || { echo "the behavior has changed; expected:"; echo "$expected"; exit 1; }
