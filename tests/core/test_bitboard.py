"""Bit operations against Python's own integers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cc_env.core import bitboard
from cc_env.core.bitboard import lowest_index, mix, reverse_bits

words = st.integers(0, 2**64 - 1)


@given(words)
def test_bit_operations_agree_with_python(word):
    given_word = np.uint64(word)
    assert bitboard.popcount(given_word) == word.bit_count()
    assert lowest_index(given_word) == ((word & -word).bit_length() - 1 if word else 64)
    assert bitboard.lowest_bit(given_word) == word & -word
    assert reverse_bits(given_word) == int(f"{word:064b}"[::-1], 2)


def test_mix_is_splitmix64():
    # The first outputs for seed 0 that the author of the generator published.
    state, outputs = 0, []
    for _ in range(3):
        outputs.append(int(mix(np.uint64(state))))
        state = (state + 0x9E3779B97F4A7C15) % 2**64
    assert outputs == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
