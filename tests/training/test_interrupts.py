"""Runs in the terminal: what Ctrl-C does."""

import signal
import threading

import pytest

from training.runs.progress import interrupts


def test_ctrl_c_is_asked_about_once_and_interrupts_the_second_time(capfd):
    with interrupts() as pressed:
        assert not pressed()
        signal.raise_signal(signal.SIGINT)
        assert pressed()
        assert "finishing this step, then saving; Ctrl-C again stops" in capfd.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_another_thread_leaves_ctrl_c_to_the_main_one():
    heard = []

    def listen():
        with interrupts() as pressed:
            heard.append((signal.getsignal(signal.SIGINT), pressed()))

    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    assert heard == [(signal.default_int_handler, False)]
