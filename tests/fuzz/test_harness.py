"""The harness of the fuzz tests fails for other errors than CcEnvError, and for slow calls."""

import time

import pytest
from fuzz.harness import call_or_reject

from cc_env.errors import BadRecord


def fail(error):
    raise error


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_cc_env_errors_pass():
    assert call_or_reject(int, "3") == 3
    assert call_or_reject(fail, BadRecord("no record")) is None


@pytest.mark.parametrize("error", [KeyError("game"), ValueError("x"), BadRecord("")])
def test_other_errors_fail(error):
    with pytest.raises((AssertionError, KeyError, ValueError)):
        call_or_reject(fail, error)


def test_messages_must_be_encodable():
    assert str(BadRecord("a name such as \ud800…")) == r"a name such as \ud800…"
    assert str(BadRecord("one", 2)) == "('one', 2)"
    call_or_reject(fail, BadRecord("\ud800"))


def test_calls_may_be_slow_once(monkeypatch):
    monkeypatch.setattr("fuzz.harness.MAX_CPU_SECONDS", 0.02)
    lasts = iter([0.04, 0.0, 0.04, 0.04])
    call_or_reject(lambda: work(next(lasts)))
    with pytest.raises(AssertionError, match="of CPU"):
        call_or_reject(lambda: work(next(lasts)))
