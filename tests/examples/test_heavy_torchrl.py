"""TorchRL makes our environments by its own classes, and its checks of them pass."""

import pytest

from cc_env.envs import aec

ID = "cc_env/CaptureConquer-v0"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # the library's own
]


def test_gym_env_reads_the_mask_from_the_info(heavy):
    heavy("torchrl")
    import torch
    from torchrl.data import Binary, Composite
    from torchrl.envs import ActionMask, Compose, DTypeCastTransform, TransformedEnv
    from torchrl.envs.libs.gym import GymEnv, default_info_dict_reader
    from torchrl.envs.utils import check_env_specs

    env = GymEnv(ID, size=4, categorical_action_encoding=True)
    spec = Composite(action_mask=Binary(env.action_spec.n, dtype=torch.int8))
    env.set_info_dict_reader(default_info_dict_reader(["action_mask"], spec))
    to_bool = DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"])
    env = TransformedEnv(env, Compose(to_bool, ActionMask()))
    torch.manual_seed(1)
    env.set_seed(1)
    check_env_specs(env)
    rollout = env.rollout(200, break_when_any_done=False)
    assert rollout["action_mask"].gather(1, rollout["action"][:, None]).all()
    assert rollout["action_mask"].float().mean() < 0.2
    over, rewards = rollout["next", "done"], rollout["next", "reward"]
    assert over.sum() > 9
    assert set(rewards[over].tolist()) == {-1.0, 1.0}
    assert not rewards[~over].any()


@pytest.mark.parametrize("masks", [False, True], ids=["in infos", "in observations"])
def test_pettingzoo_wrapper_plays_both_players(masks, heavy):
    heavy("torchrl")
    import torch
    from torchrl.envs.libs.pettingzoo import PettingZooWrapper
    from torchrl.envs.utils import check_env_specs

    env = aec.env(size=4)
    env = PettingZooWrapper(aec.MaskInObservation(env) if masks else env, use_mask=True)
    torch.manual_seed(1)
    check_env_specs(env)
    rollout = env.rollout(200, break_when_any_done=False)
    moves = [rollout[agent, "mask"][:, 0] for agent in ("player_0", "player_1")]
    assert (moves[0] ^ moves[1]).all()  # one of both
    for agent, is_to_move in zip(("player_0", "player_1"), moves, strict=True):
        legal = rollout[agent, "action_mask"][is_to_move, 0]
        assert legal.gather(1, rollout[agent, "action"][is_to_move]).all()
        assert legal.float().mean() < 0.2
    over = rollout["next", "done"][:, 0]
    rewards = [rollout["next", agent, "reward"][over, 0, 0] for agent in ("player_0", "player_1")]
    assert over.sum() > 4
    assert not (rewards[0] + rewards[1]).any()
    assert set(rewards[0].tolist()) >= {-1.0, 1.0}
