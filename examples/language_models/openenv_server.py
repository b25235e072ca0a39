"""OpenEnv: every game against an opponent on a WebSocket, with many sessions at once.

Run        python -m examples.language_models.openenv_server --port 8000
Tested     openenv 0.10.0
"""

import argparse
from typing import Any

import gymnasium
import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_app

import cc_env  # noqa: F401  registers the environment
from cc_env.registry.import_allowlist import untrusted_names

MAX_SESSIONS = 100


class Reply(Action):
    """A reply in prose with a turn, such as <turn>a1-c3</turn>."""

    text: str


class Board(Observation):
    """The board in words; after a reset, also the rules."""

    text: str
    rules: str = ""


class BoardGame(Environment):
    """A game; `reset` takes the options of `TextGameEnv`."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, **options: Any
    ) -> Board:
        with untrusted_names():
            self.env = gymnasium.make("cc_env/TextGame-v0", **options)
        self._state = State(episode_id=episode_id)
        text, _ = self.env.reset(seed=seed)
        return Board(text=text, rules=self.env.get_wrapper_attr("rules"))

    def step(self, action: Reply, timeout_s: float | None = None, **options: Any) -> Board:
        text, reward, terminated, truncated, _ = self.env.step(action.text)
        self._state.step_count += 1
        return Board(text=text, reward=reward, done=terminated or truncated)

    @property
    def state(self) -> State:
        return self._state


app = create_app(BoardGame, Reply, Board, "cc_env", max_concurrent_envs=MAX_SESSIONS)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8000)
    uvicorn.run(app, host="127.0.0.1", port=parser.parse_args().port)
