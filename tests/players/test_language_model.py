"""Language models as players: games, conversations, faults, budgets, transcripts and keys."""

import json
from itertools import count

import gymnasium
import numpy as np
import pytest
from players.chat_server import legal_turns, play_legally, say, serving

from cc_env.errors import BadOption, BadPlayer, Forfeit
from cc_env.games.factory import make_game
from cc_env.match.referee import Clock, play_match
from cc_env.players.language_model import LanguageModelPlayer
from cc_env.players.specs import check_spec, make_player
from cc_env.protocols import chat_client
from cc_env.protocols.chat_client import KEY_VARIABLE
from cc_env.registry import import_allowlist
from cc_env.registry.catalogue import GAMES
from cc_env.registry.import_allowlist import untrusted_names
from cc_env.server.player_pool import allowed_players
from cc_env.text.turns import legal_turn_texts

KEY = "sk-secret-1234"
NO_LIMIT = Clock()


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch):
    monkeypatch.setattr(chat_client, "RETRY_SECONDS", 0.0)
    monkeypatch.delenv(KEY_VARIABLE, raising=False)


def choose(spec, game=None, clock=NO_LIMIT):
    """Return the decision of a player at the start of a game, by default of C&C."""
    game = game or make_game("capture_conquer")
    return make_player(spec, game).choose(game.initial, np.random.default_rng(0), clock)


def forfeit(answer, options="", clock=NO_LIMIT):
    """Return the fault of a player at the start of C&C, and its server."""
    with serving(answer) as server, pytest.raises(Forfeit) as caught:
        choose(f"{server.spec}{options}", clock=clock)
    return caught.value, server


@pytest.mark.parametrize("name", GAMES)
def test_model_plays_whole_games(name):
    game = make_game(name)
    with serving(play_legally) as server:
        players = make_player(server.spec, game), make_player("random", game)
        match_record = play_match(game, players, names=("model", "random"), seed=3)
    assert match_record.reason not in ("illegal", "time", "error")
    assert len(match_record.turns) > 10


def test_same_seed_gives_the_same_game():
    game = make_game("capture_conquer")
    with serving(play_legally) as server:
        records = [
            play_match(game, [make_player(server.spec, game)] * 2, seed=seed) for seed in (1, 1, 2)
        ]
    assert records[0].turns == records[1].turns != records[2].turns


def test_request_has_the_rules_and_the_position():
    with serving(say("<turn>a1-c3</turn>")) as server:
        assert choose(f"{server.spec},temperature=0.5,tokens=99").action == 6
    (request,) = server.requests
    system, user = request["messages"]
    assert system["content"].startswith("Rules of Capturing & Conquering")
    assert "You are blue (b). Blue to move." in user["content"]
    assert legal_turns(request)[0] == "a1-c3"
    del request["messages"], request["seed"]
    assert request == {"model": "scripted", "max_tokens": 99, "temperature": 0.5}
    assert server.paths == ["/v1/chat/completions"]


def test_legal_turns_may_be_hidden():
    texts = legal_turn_texts(make_game("capture_conquer"), make_game("capture_conquer").initial)
    with serving(say("I resign.", "<turn>a1-b9</turn>", f"<turn>{texts[1]}</turn>")) as server:
        choose(f"{server.spec},show_legal=False")
    _, *messages, reason = server.requests[2]["messages"]
    assert reason["content"].startswith("'a1-b9' is not legal")
    contents = [message["content"] for message in (*messages, reason)]
    assert not any(text in content for text in texts for content in contents)


def test_model_is_an_opponent_in_an_environment():
    with serving(play_legally) as server:
        env = gymnasium.make("cc_env/TextGame-v0", opponent=server.spec, seat=0, size=4)
        env.reset(seed=0)
        observation, *_ = env.step("<turn>a1-c1</turn>")
    assert "Blue to move" in observation
    assert len(server.requests) == 1


def test_turn_of_several_decisions_is_one_reply():
    game = make_game("morris")
    position = game.from_text("ww.b..b................. w 77")
    with serving(say("C-D")) as server:
        player = make_player(server.spec, game)
        for action in game.parse_turn(position, "C-D"):
            decision = player.choose(position, np.random.default_rng(0), Clock())
            assert decision.action == action
            position = game.apply(position, action)
    assert len(server.requests) == 1


# Replies without a legal turn


def test_reply_without_a_legal_turn_is_answered_by_the_reason():
    with serving(say("I resign.", "<turn>a1-b9</turn>", "Sorry: <turn>a1-c3</turn>")) as server:
        assert choose(server.spec).action == 6
    *_, reply, reason = server.requests[1]["messages"]
    assert reply == {"role": "assistant", "content": "I resign."}
    assert reason["content"].startswith("the reply chooses no turn")
    content = server.requests[2]["messages"][-1]["content"]
    assert content.startswith("'a1-b9' is not legal; legal: a1-c3,")
    assert content.endswith(", ...\nReply again.")


def test_model_without_a_legal_turn_loses():
    fault, server = forfeit(say("<turn>a1-b9</turn>"), ",tries=2")
    assert fault.fault == "illegal"
    assert str(fault).startswith("scripted: no legal turn in 2 replies: 'a1-b9' is not legal")
    assert len(server.requests) == 2


def test_record_has_the_reason_of_a_loss():
    game = make_game("morris")
    with serving(say("no idea")) as server:
        players = make_player("random", game), make_player(server.spec, game)
        match_record = play_match(game, players, names=("random", "model"))
    assert (match_record.result, match_record.reason) == ("1-0", "illegal")
    assert "no legal turn in 3 replies" in match_record.detail


@pytest.mark.parametrize(
    "reply", ["a1-c3", "I play a1-c3", "My move: a1-c3", "<turn>a1-c3", '{"move": "a1-c3', ""]
)
def test_truncated_reply_chooses_no_turn(reply):
    answers = [(reply, "length"), (f"{reply}<turn>a1-c3</turn> since", "length")]
    with serving(lambda handler, request: handler.reply(*answers.pop(0))) as server:
        assert choose(f"{server.spec},tries=2").action == 6
    assert server.requests[1]["messages"][2]["content"] == f"{reply} [truncated]"


def test_long_reply_is_repeated_in_part():
    with serving(say("hm " * 10_000, "a1-c3")) as server:
        choose(server.spec)
    assert len(server.requests[1]["messages"][2]["content"]) == 4000


# Servers


def drip(handler, request):
    """Send a byte at a time, and never an end."""
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.has_ended.wait(0.01):
        handler.wfile.write(b" ")
        handler.wfile.flush()


@pytest.mark.parametrize(
    "answer", [lambda handler, request: handler.server.has_ended.wait(), drip], ids=["slow", "drip"]
)
def test_slow_server_loses_by_time(answer):
    fault, _ = forfeit(answer, ",seconds=0.2")
    assert (fault.fault, str(fault)) == ("time", "scripted: no reply in 0.2 s")
    fault, _ = forfeit(answer, clock=Clock(turn=0.1))
    assert (fault.fault, str(fault)) == ("time", "scripted: no reply in 0.1 s")


def test_temporary_error_is_repeated():
    for status in (429, 500, 503):
        numbers = count()

        def answer(handler, request, status=status, numbers=numbers):
            if next(numbers) < 2:
                handler.send(b"busy", status)
            else:
                handler.reply("<turn>a1-c3</turn>")

        with serving(answer) as server:
            assert choose(server.spec).action == 6
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("answer", "options", "message", "requests"),
    [
        (lambda h, r: h.send(b"over\nloaded", 503), ",retries=1", "status 503: over loaded", 2),
        (lambda h, r: h.send(b"no such model", 404), "", "status 404: no such model", 1),
        (lambda h, r: h.send(b"", 302), "", "status 302", 1),
        (lambda h, r: h.send(b"nonsense"), "", "'nonsense' has no choices", 1),
        (lambda h, r: h.send(b"\xff\x00"), "", "has no choices", 1),
        (lambda h, r: h.send(b'{"choices": []}'), "", "has no choices", 1),
        (lambda h, r: h.send(b"[" * 100_000), "", "has no choices", 1),
        (lambda h, r: h.reply(None), "", "has no choices", 1),
        (lambda h, r: h.send(b" " * (2**22 + 1)), "", "more than 4,194,304 bytes", 1),
        (lambda h, r: h.wfile.write(b"nonsense\r\n"), ",retries=0", "127.0.0.1: nonsense", 1),
        (lambda h, r: h.connection.close(), ",retries=0", "127.0.0.1: ", 1),
    ],
)
def test_broken_server_loses_by_an_error(answer, options, message, requests):
    fault, server = forfeit(answer, options)
    assert fault.fault == "error"
    assert message in str(fault)
    assert str(fault).isprintable()
    assert len(server.requests) == requests


def refuse_old_limit(handler, request):
    """Answer as OpenAI's reasoning models, which refuse `max_tokens`."""
    if "max_tokens" in request:
        message = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead."
        )
        error = {"message": message, "param": "max_tokens", "code": "unsupported_parameter"}
        handler.send(json.dumps({"error": error}).encode(), 400)
    else:
        handler.reply("<turn>a1-c3</turn>", completion_tokens=12)


def test_refused_limit_is_sent_under_its_other_name():
    game = make_game("capture_conquer")
    with serving(refuse_old_limit) as server:
        player = make_player(f"{server.spec},tokens=15,budget=20,retries=0", game)
        for part in (player, player, player.for_new_game()):
            part.choose(game.initial, np.random.default_rng(0), Clock())
    limits = [
        {name: value for name, value in request.items() if name.startswith("max")}
        for request in server.requests
    ]
    new = "max_completion_tokens"
    assert limits == [{"max_tokens": 15}, {new: 15}, {new: 8}, {new: 15}]
    assert server.requests[0]["messages"] == server.requests[1]["messages"]


def test_limit_that_is_refused_under_both_names_loses():
    refusal = b"max_tokens or max_completion_tokens is too large"
    fault, server = forfeit(lambda h, r: h.send(refusal, 400))
    assert str(fault).endswith("HTTP status 400: max_tokens or max_completion_tokens is too large")
    assert len(server.requests) == 2


def test_absent_server_loses_by_an_error():
    with serving(say("")) as server:
        spec = server.spec
    with pytest.raises(Forfeit, match=r"scripted: 127\.0\.0\.1: .*refused"):
        choose(spec)


# Keys


def test_key_is_sent_but_never_reported(monkeypatch, tmp_path):
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    fault, server = forfeit(lambda h, r: h.send(f"bad {KEY}".encode(), 401))
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert KEY_VARIABLE in str(fault)
    assert KEY not in str(fault)
    for content, status in ((f"echo {KEY}", 400), (f"echo {KEY}", 200), (f"echo {KEY}", 500)):
        fault, _ = forfeit(lambda h, r: h.send(content.encode(), status), ",retries=0")  # noqa: B023
        assert f"echo ${KEY_VARIABLE}" in str(fault)
        assert KEY not in str(fault)


@pytest.mark.parametrize(
    "answer",
    [
        lambda handler, content: handler.send(content),
        lambda handler, content: handler.send(content, 400),
        lambda handler, content: handler.wfile.write(content + b"\r\n"),
    ],
    ids=["malformed", "refused", "no status"],
)
def test_key_at_the_end_of_an_excerpt_is_not_reported_in_part(monkeypatch, answer):
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    for length in range(185, 201):
        content = "." * length + KEY
        fault, _ = forfeit(lambda h, r: answer(h, content.encode()), ",retries=0")  # noqa: B023
        assert "sk" not in str(fault)
        assert 185 <= len(str(fault)) < 300


@pytest.mark.parametrize("key", [f"{KEY}\n", f" {KEY}\r\n", f"\t{KEY}"])
def test_white_space_around_the_key_is_removed(monkeypatch, key):
    monkeypatch.setenv(KEY_VARIABLE, key)
    fault, server = forfeit(lambda h, r: h.send(f"echo {KEY}".encode(), 400))
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert str(fault).endswith(f"echo ${KEY_VARIABLE}")


@pytest.mark.parametrize("key", ["", " ", "\n"])
def test_empty_key_is_no_key(monkeypatch, key):
    monkeypatch.setenv(KEY_VARIABLE, key)
    fault, server = forfeit(lambda h, r: h.send(b"no such model", 404))
    assert "Authorization" not in server.headers[0]
    assert str(fault).endswith("no such model")


@pytest.mark.parametrize("key", ["sk-\nsecret", "sk-\x1bsecret", "sk-\x7fsecret", "sk-sécret"])
def test_invalid_key_is_rejected_without_a_part_of_it(monkeypatch, key):
    game = make_game("capture_conquer")
    with serving(say("a1-c3")) as server:
        player = make_player(server.spec, game)
        monkeypatch.setenv(KEY_VARIABLE, key)
        with pytest.raises(BadOption, match=KEY_VARIABLE) as created:
            make_player(server.spec, game)
        with pytest.raises(BadOption, match=KEY_VARIABLE) as requested:
            player.choose(game.initial, np.random.default_rng(0), Clock())
        assert not server.requests
    for caught in (created, requested):
        assert not any(part in str(caught.value) for part in ("sk-", "cret"))


def test_key_in_a_reply_is_not_written(monkeypatch, tmp_path):
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    fault, _ = forfeit(say(f"<turn>{KEY}</turn>"), f",transcripts={tmp_path}")
    (path,) = tmp_path.iterdir()
    assert f"'${KEY_VARIABLE}' is not legal" in str(fault)
    assert KEY not in path.read_text()


def test_request_without_a_key_has_no_authorization():
    with serving(say("a1-c3")) as server:
        choose(server.spec)
    assert "Authorization" not in server.headers[0]


@pytest.mark.parametrize(
    "url", [f"http://user:{KEY}@127.0.0.1/v1", f"http://127.0.0.1/v1?key={KEY}"]
)
def test_key_in_the_address_is_rejected(url, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with pytest.raises(BadOption, match="without a key") as caught:
        choose(f"llm:model=any,url={url}")
    assert KEY not in str(caught.value)


# Budgets and transcripts


def test_budget_of_tokens_ends_the_game():
    game = make_game("capture_conquer")
    with serving(say("<turn>a1-c3</turn>")) as server:
        player = make_player(f"{server.spec},budget=20,tokens=15", game)
        for _ in range(2):
            player.choose(game.initial, np.random.default_rng(0), Clock())
        with pytest.raises(Forfeit, match="budget of 20 tokens is spent") as caught:
            player.choose(game.initial, np.random.default_rng(0), Clock())
        player.for_new_game().choose(game.initial, np.random.default_rng(0), Clock())
    assert caught.value.fault == "error"
    assert [request["max_tokens"] for request in server.requests] == [15, 8, 15]


@pytest.mark.parametrize(
    "usage",
    [None, 5, [], {}, {"completion_tokens": -1000}, {"completion_tokens": 0}]
    + [{"completion_tokens": value} for value in (True, 2.5, "7", None, 10**30)],
)
def test_reply_whose_length_is_not_reported_counts_as_the_longest(usage):
    completion = {"choices": [{"message": {"content": "<turn>a1-c3</turn>"}}], "usage": usage}
    game = make_game("capture_conquer")
    with serving(lambda h, r: h.send(json.dumps(completion).encode())) as server:
        player = make_player(f"{server.spec},budget=20,tokens=15", game)
        for _ in range(2):
            decision = player.choose(game.initial, np.random.default_rng(0), Clock())
            assert decision.action == 6
        with pytest.raises(Forfeit, match="budget of 20 tokens is spent"):
            player.choose(game.initial, np.random.default_rng(0), Clock())
    assert [request["max_tokens"] for request in server.requests] == [15, 5]


def test_each_game_has_a_transcript(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    game = make_game("capture_conquer")
    with serving(say("I resign.", "<turn>a1-c3</turn>")) as server:
        player = make_player(f"{server.spec},transcripts={tmp_path}", game)
        for _ in range(2):
            player.for_new_game().choose(game.initial, np.random.default_rng(0), Clock())
    files = sorted(tmp_path.iterdir(), key=lambda path: path.stat().st_size)
    lines = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    assert [len(path.read_text().splitlines()) for path in files] == [1, 2]
    replies = [(line["reply"], bool(line["error"]), line["tokens"]) for line in lines]
    chosen = "<turn>a1-c3</turn>", False, 12
    assert replies == [chosen, ("I resign.", True, 12), chosen]
    assert [len(line["messages"]) for line in lines] == [2, 2, 4]
    assert KEY not in "".join(path.read_text() for path in files)


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "model=None"),
        ("model=", "model=''"),
        ("model=a,url=ftp://x", "url='ftp://x'"),
        ("model=a,url=127.0.0.1", "url='127.0.0.1'"),
        ("model=a,url=http://", "url='http://'"),
        ("model=a,url=http://[", r"url='http://\['"),
        ("model=a,url=http://x:99999", "url='http://x:99999'"),
        ("model=a,url=http://x/a b", "url='http://x/a b'"),
        ("model=a,url=http://é/", "url='http://é/'"),
        ("model=a,url=http://a..b/", r"url='http://a\.\.b/'"),
        ("model=a,tries=0", "tries=0"),
        ("model=a,seconds=0", "seconds=0"),
        ("model=a,tokens=0", "tokens=0"),
        ("model=a,budget=0", "budget=0"),
        ("model=a,temperature=-1", "temperature=-1"),
        ("model=a,retries=-1", "retries=-1"),
        ("model=a,show_legal=1", "show_legal=1"),
        ("model=a,transcripts=nowhere", "transcripts='nowhere'"),
        ("model=a,key=1", "no option key"),
    ],
)
def test_invalid_options_are_rejected(options, message):
    with pytest.raises(BadOption, match=message):
        choose(f"llm:{options}")


def test_server_named_by_a_file_is_not_used(monkeypatch):
    monkeypatch.setattr(import_allowlist, "_allowed_servers", set())
    spec = "llm:model=a,url=http://example.org"
    with untrusted_names():
        for untrusted in (spec, "llm:model=a"):
            with pytest.raises(BadPlayer, match="a file names the server"):
                check_spec(untrusted)
    check_spec(spec)
    with untrusted_names():
        check_spec(spec)


def test_page_offers_no_language_models():
    assert "llm" not in allowed_players(make_game("checkers"))


def test_player_has_no_state_of_another_game():
    game = make_game("capture_conquer")
    player = LanguageModelPlayer(game, model="any")
    assert player.for_new_game() is not player
