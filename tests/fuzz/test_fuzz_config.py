"""Altered configs and logs of runs are rejected or read."""

import json
from dataclasses import asdict

import pytest
from fuzz.damage import JSON, bytes_damaged, json_damaged
from fuzz.harness import call_or_reject
from hypothesis import given
from hypothesis import strategies as st

from training import alphazero, dqn
from training.distillation import distillation
from training.learned_evaluation import fitting
from training.ppo import ppo
from training.runs import command_line, log
from training.runs.folder import CONFIG

KINDS = {
    algorithm.__name__: algorithm.Config
    for algorithm in (alphazero, dqn, distillation, fitting, ppo)
}
GOOD = {name: json.loads(json.dumps(asdict(kind()))) for name, kind in KINDS.items()}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


def reads(path, name):
    return command_line._saved_config(path, KINDS[name], {})


@pytest.mark.parametrize("name", KINDS)
@given(st.data())
def test_altered_configs_raise_only_cc_env_errors(place, name, data):
    text = json.dumps(data.draw(json_damaged(GOOD[name])))
    (place / CONFIG).write_text(text, encoding="utf-8")
    call_or_reject(reads, place, name)


@given(st.data())
def test_damaged_configs_raise_only_cc_env_errors(place, data):
    content = json.dumps(GOOD["training.ppo.ppo"]).encode()
    (place / CONFIG).write_bytes(data.draw(bytes_damaged(content)))
    call_or_reject(reads, place, "training.ppo.ppo")


@given(JSON.map(json.dumps) | st.text() | st.integers(1, 10**5).map(lambda depth: "[" * depth))
def test_random_configs_raise_only_cc_env_errors(place, text):
    (place / CONFIG).write_text(text, encoding="utf-8")
    call_or_reject(reads, place, "training.alphazero")


@given(json_damaged({"step": 1, "loss": 0.5}).map(json.dumps) | st.text())
def test_altered_logs_raise_only_cc_env_errors(place, text):
    call_or_reject(log.parse_row, place / log.LOG, 3, text)
