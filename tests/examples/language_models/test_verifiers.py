"""Games and tasks of verifiers, with a scripted model."""

import asyncio
import random
from pathlib import Path

import pytest
from players.chat_server import serving

from cc_env.registry.catalogue import GAMES
from cc_env.tasks import Task
from cc_env.tasks.task import KINDS

# The library's own warnings.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
ADAPTERS = Path(__file__).parents[3] / "examples" / "language_models"
AGENT = {"harness": {"id": "chat-harness"}, "runtime": {"type": "subprocess"}}
USAGE = {"prompt_tokens": 1, "completion_tokens": 1}


@pytest.fixture
def verifiers(heavy, monkeypatch):
    """Return the library, which imports the adapters and the harness by their names."""
    heavy("verifiers")
    import verifiers.v1

    monkeypatch.syspath_prepend(ADAPTERS)
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.setenv("SCRIPTED_KEY", "key")
    return verifiers.v1


def run_episodes(library, env, answer, count):
    """Return the episodes of the first tasks, with a server that answers by `answer`."""

    async def run(url):
        client = library.EvalClientConfig(base_url=url, api_key_var="SCRIPTED_KEY")
        context = library.ModelContext(model="scripted", client=client)
        async with env.serving():
            return [await env.run_episode(task, context) for task in env.taskset.take(count)]

    with serving(answer) as server:
        return asyncio.run(run(f"http://127.0.0.1:{server.server_port}/v1"))


@pytest.mark.parametrize("game", GAMES)
def test_games_end_with_a_reward(game, verifiers):
    import cc_env_games

    rng = random.Random(0)

    def answer(handler, request):
        text = request["messages"][-1]["content"]
        turn = rng.choice(text.split("Legal turns: ")[-1].split(", "))
        # The default number of tries is three.
        is_refused = rng.random() < 0.2 and "1 reply left" not in text
        handler.reply("No idea." if is_refused else f"<turn>{turn}</turn>", **USAGE)

    config = cc_env_games.GameConfig(id="cc-env-games", game=game)
    settings = verifiers.SingleAgentEnvConfig(taskset=config, agent=AGENT)
    env = cc_env_games.GameEnv(settings)
    (episode,) = run_episodes(verifiers, env, answer, 1)
    assert episode.ok, [*episode.errors, *(trace.errors for trace in episode.traces)]
    (trace,) = episode.traces
    assert trace.rewards["result"].score in (-1, 0, 1)
    assert len(trace.branches[-1].messages) > 5


@pytest.mark.parametrize("kind", KINDS)
def test_tasks_reward_solutions_only(kind, verifiers):
    import cc_env_tasks

    config = cc_env_tasks.CcEnvConfig(id="cc-env-tasks", kind=kind, count=5)
    settings = verifiers.SingleAgentEnvConfig(taskset=config, agent=AGENT)
    env = verifiers.SingleAgentEnv(settings)
    tasks = [Task.from_json(each.data.line) for each in env.taskset.take(2)]
    assert {task.split for task in tasks} == {"train"}
    replies = {tasks[0].prompt: tasks[0].solution}

    def answer(handler, request):
        handler.reply(replies.get(request["messages"][-1]["content"], "No idea."), **USAGE)

    episodes = run_episodes(verifiers, env, answer, 2)
    assert all(episode.ok for episode in episodes)
    assert [episode.traces[0].rewards["solved"].score for episode in episodes] == [1, 0]
