"""Untrusted responses of servers of language models."""

import json

from fuzz.harness import call_or_reject
from fuzz.mutations import texts
from hypothesis import given

from cc_env.protocols.chat_client import parse_completion

RESPONSES = [
    {"choices": [{"message": {"role": "assistant", "content": "<turn>a1-c3</turn>"}}]},
    {"choices": [{"message": {"content": "x"}}], "usage": {"completion_tokens": 7}},
    {"choices": [{"message": {"content": "x"}, "finish_reason": "length"}]},
    {"choices": [{"message": {"content": "x"}}], "usage": [-7]},
    {"choices": [{"message": {"content": None}}], "usage": None},
    {"error": {"message": "overloaded"}},
]


@given(texts(list(map(json.dumps, RESPONSES))))
def test_random_responses_raise_only_cc_env_errors(text):
    call_or_reject(parse_completion, text.encode("utf-8", "surrogatepass"))
