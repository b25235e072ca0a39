"""Ctrl-C during a run."""

import signal
import threading

import pytest

from training.runs.progress import interrupts


def test_first_ctrl_c_sets_a_flag_and_second_interrupts(capfd):
    with interrupts() as pressed:
        assert not pressed()
        signal.raise_signal(signal.SIGINT)
        assert pressed()
        assert "finishing this step, then saving; Ctrl-C again stops" in capfd.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_other_threads_do_not_handle_ctrl_c():
    states = []

    def record_state():
        with interrupts() as pressed:
            states.append((signal.getsignal(signal.SIGINT), pressed()))

    thread = threading.Thread(target=record_state)
    thread.start()
    thread.join()
    assert states == [(signal.default_int_handler, False)]
