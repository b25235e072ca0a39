"""Tree search guided by a network."""

import math

import numpy as np
import pytest

from agents.network_players import PolicyPlayer
from cc_env.accuracy.decisions import sample_uniform
from cc_env.core.rules import ONGOING
from cc_env.errors import BadOption, IllegalAction, UnknownOption
from cc_env.games.factory import make_game
from cc_env.jit.compiler import jit
from cc_env.match.openings import play_random_turns
from cc_env.search import scores
from cc_env.search.alphabeta import AlphaBeta
from cc_env.search.gumbel import halving_schedule
from cc_env.search.proofs import PROVEN_WIN
from cc_env.search.puct import PUCT, Trees
from cc_env.search.scores import PROVEN, proven_margin, repetition_score
from cc_env.search.simulations import FPU_REDUCTION
from cc_env.tablebase.tablebase import Tablebase


def flat(planes):
    """Return equal logits and zero values, for any game."""
    return np.zeros((len(planes), 2000), np.float32), np.zeros(len(planes), np.float32)


def opinionated(planes):
    """Return logits and values that are a deterministic function of each observation."""
    logits, values = np.empty((len(planes), 410), np.float32), np.empty(len(planes), np.float32)
    for row, observation in enumerate(planes):
        seed = [int(byte) for byte in np.packbits(observation)]
        rng = np.random.default_rng(seed)
        logits[row], values[row] = rng.normal(size=410), rng.uniform(-0.9, 0.9)
    return logits, values


@pytest.fixture(scope="module")
def some_positions(game):
    """Positions of random games, mid-turn ones among them."""
    rng, positions = np.random.default_rng(3), []
    for _ in range(12):
        position = game.initial
        for _ in range(int(rng.integers(30))):
            if game.outcome(position) == ONGOING:
                after = game.apply(position, int(rng.choice(game.legal_actions(position))))
                position = after if game.outcome(after) == ONGOING else position
        positions.append(position)
    pending = game.from_text("6/1bb3/1brrr1/1r1r2/6/6 b")
    decisions = (game.apply(pending, int(action)) for action in game.legal_actions(pending))
    # Positions in which pieces can move in circles.
    positions += map(game.from_text, ("6/6/2bbr1/2rrb1/6/6 b", "brr3/6/6/6/6/3bbr b"))
    return [*positions, next(after for after in decisions if game.mid_turn(after))]


class Edge:
    def __init__(self, prior):
        self.prior, self.visits, self.draws, self.target = prior, 0, 0, None


class Node:
    def __init__(self, game, position):
        self.position, self.player = position, game.to_move(position)
        self.edges, self.visits, self.proven = {}, 0, 0
        self.network_value = self.value = 0.0

    def proven_to(self, player):
        return self.proven if self.player == player else -self.proven

    def value_to(self, player):
        return self.value if self.player == player else -self.value


class Plain:
    """A reference implementation in plain Python."""

    # Numbers of all searches.
    repetitions = transpositions = 0

    def __init__(self, game, position, contempt, earlier=()):
        self.game, self.contempt, self.earlier = game, contempt, earlier
        self.root = Node(game, position)
        self.nodes = {position: self.root}

    def simulate(self):
        path, edges, node = [self.root], [], self.root
        while node.edges and not node.proven:
            action, edge = max(node.edges.items(), key=lambda item: self.bound(node, item[1], path))
            edges.append(edge)
            edge.visits += 1
            if edge.target is None:
                edge.target = self.reach(node, action)
            node = edge.target
            if node in path or node.position in self.earlier:
                Plain.repetitions += 1
                edge.draws += 1
                break
            path.append(node)
        if not (path[-1].edges or path[-1].proven):
            self.evaluate(path[-1])
        for visited in path:
            visited.visits += 1
        for visited in reversed(path[: len(edges)]):
            self.update(visited)

    def reach(self, node, action):
        after = self.game.apply(node.position, action)
        Plain.transpositions += after in self.nodes
        return self.nodes.setdefault(after, Node(self.game, after))

    def evaluate(self, node):
        outcome = self.game.outcome(node.position)
        if outcome in (0, 1):
            node.proven = PROVEN_WIN if outcome == node.player else -PROVEN_WIN
        elif outcome == ONGOING and node is not self.root:
            decisions = self.shortest_win(node.position)
            node.proven = PROVEN_WIN - decisions if decisions else 0
        if outcome == ONGOING and not node.proven:
            legal = self.game.legal_actions(node.position).tolist()
            logits, values = opinionated(self.game.observe(node.position)[np.newaxis])
            weights = np.exp(logits[0, legal] - logits[0, legal].max())
            node.edges = dict(zip(legal, map(Edge, weights / weights.sum()), strict=True))
            node.network_value = node.value = float(values[0])
        if node.proven:
            node.value = math.copysign(1, node.proven)

    def shortest_win(self, position):
        """Return the decisions of the shortest win within the turn, None without one."""
        player = self.game.to_move(position)
        for turn in sorted(self.game.turns(position), key=len):
            if self.game.outcome(self.game.play_turn(position, turn)) == player:
                return len(turn)
        return None

    def draw_value(self, node):
        return -self.contempt if node.player == self.root.player else self.contempt

    def bound(self, node, edge, path):
        value = node.value - FPU_REDUCTION
        if edge.target and edge.target.proven_to(node.player) < 0:
            return -math.inf
        if edge.target and (edge.target in path or edge.target.position in self.earlier):
            value = self.draw_value(node)
        elif edge.target and edge.target.visits:
            value = edge.target.value_to(node.player)
        return value + 1.5 * math.sqrt(node.visits + 1) * edge.prior / (1 + edge.visits)

    def update(self, node):
        expanded = [edge for edge in node.edges.values() if edge.target]
        values = [
            (edge.visits - edge.draws) * edge.target.value_to(node.player)
            + edge.draws * self.draw_value(node)
            for edge in expanded
        ]
        node.value = (node.network_value + sum(values)) / (
            1 + sum(edge.visits for edge in expanded)
        )
        proven = [
            edge.target.proven_to(node.player) if edge.target else 0 for edge in node.edges.values()
        ]
        if best := max(proven):
            node.proven = best - int(math.copysign(1, best))
            node.value = math.copysign(1, best)


def some_after(game, position):
    """Return some positions that are one and two decisions later."""
    once = [game.apply(position, int(action)) for action in game.legal_actions(position)[::3]]
    twice = [game.apply(after, int(game.legal_actions(after)[0])) for after in once]
    return [after for after in once + twice if game.outcome(after) == ONGOING]


@pytest.mark.parametrize(
    ("contempt", "has_earlier_positions"),
    [
        (0.3, False),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((0, False), (0.2, True))),
    ],
)
def test_puct_equals_a_reference_in_plain_python(
    game, some_positions, contempt, has_earlier_positions
):
    Plain.repetitions = Plain.transpositions = 0
    for position in some_positions:
        ends = [game.outcome(game.play_turn(position, turn)) for turn in game.turns(position)]
        if any(end != ONGOING for end in ends):
            # The root expands these actions first.
            continue
        earlier = [position, *some_after(game, position)] if has_earlier_positions else []
        plain = Plain(game, position, contempt, earlier[1:])
        search = PUCT(game, opinionated, batch=1, contempt=contempt)
        result = search.search(position, simulations=200, earlier=earlier)
        # The first simulation expands the root.
        for _ in range(201):
            if not plain.root.proven:
                plain.simulate()
        expected = {action: edge.visits for action, edge in plain.root.edges.items()}
        assert dict(result.visits) == expected
        assert result.value == pytest.approx(plain.root.value, abs=1e-4)
    assert Plain.repetitions > 10
    assert Plain.transpositions > 3


def test_immediate_win_has_value_1(game):
    for text in ("5b/6/6/6/4b1/rr4 b", "1bb3/r5/6/6/6/4r1 r", "6/6/2b3/3r2/6/b4r b"):
        position = game.from_text(text)
        result = PUCT(game, flat).search(position, simulations=1)
        assert game.outcome(game.play_turn(position, result.line[:1])) == game.to_move(position)
        assert result.value == 1


@pytest.mark.parametrize("turns", [2, 3])
def test_won_race_is_proven(game, turns):
    rows = [["."] * 6 for _ in range(6)]
    start = 5 - turns
    for row, column, piece in ((start, start, "b"), (0, 5, "b"), (5, 0, "r"), (4, 0, "r")):
        rows[row][column] = piece
    position = game.from_text("/".join(map("".join, rows)) + " b")
    result = PUCT(game, flat).search(position, simulations=5000)
    assert game.turn_text(position, result.line[:1]) == f"{start},{start}-{start + 1},{start + 1}"
    assert result.value == 1
    # The proof ends the search.
    assert result.nodes < 5000


def test_proofs_agree_with_alpha_beta():
    game = make_game("capture_conquer", size=4)
    search, alpha_beta, num_proven = PUCT(game, flat), AlphaBeta(game), 0
    rng = np.random.default_rng(0)
    for _ in range(30):
        position = game.initial
        for _ in range(int(rng.integers(2, 14))):
            after = game.apply(position, int(rng.choice(game.legal_actions(position))))
            position = position if game.outcome(after) != ONGOING else after
        result = search.search(position, simulations=400)
        if result.value in (-1, 1) and len(result.line) and result.nodes < 400:
            score = alpha_beta.search(position, depth=12).score
            assert abs(score) >= PROVEN
            assert (score > 0) == (result.value > 0)
            num_proven += 1
    assert num_proven > 8


def test_trees_are_independent(game, some_positions):
    rows = np.array(some_positions, np.uint64)
    together = Trees(game, len(rows), simulations=40, considered=8)
    together.restart(rows)
    together.run(opinionated)
    batched = [array.copy() for array in together.results()]
    alone = Trees(game, 1, simulations=40, considered=8)
    for index, row in enumerate(rows):
        alone.restart(row[np.newaxis])
        alone.run(opinionated)
        for single, many in zip(alone.results(), batched, strict=True):
            np.testing.assert_array_equal(single[0], many[index])


def test_batches_give_similar_values(game):
    sequential, many = (PUCT(game, opinionated, batch=batch) for batch in (1, 16))
    few = dict(sequential.search(game.initial, simulations=2000).visits)
    batched = dict(many.search(game.initial, simulations=2000).visits)
    assert sum(few.values()) == sum(batched.values()) == 2000
    assert sum(min(few[action], batched[action]) for action in few) > 1600


@pytest.mark.parametrize("batch", [1, 4, 16])
def test_virtual_losses_are_undone(game, some_positions, batch):
    for position in some_positions:
        search = PUCT(game, opinionated, batch=batch, contempt=0.2)
        result = search.search(position, simulations=300)
        forest = search._trees._forest
        nodes = forest.nodes[0, : forest.num_nodes[0]]
        edges = forest.edges[0, : forest.num_edges[0]]
        assert (nodes["in_flight"] == 0).all()
        assert (nodes["repeats"] == 0).all()
        assert (edges["draws"] <= edges["visits"]).all()
        assert nodes["visits"][0] == result.nodes + 1
        for node in nodes[nodes["num_edges"] > 0]:
            below = edges[node["first_edge"] : node["first_edge"] + node["num_edges"]]
            assert node["visits"] == 1 + below["visits"].sum() or node["proven"]
            child = nodes[below["target"]]
            same = np.where(child["player"] == node["player"], 1, -1)
            draw_value = -0.2 if node["player"] == nodes["player"][0] else 0.2
            is_visited = (below["target"] >= 0) & (child["visits"] > 0)
            values = np.where(is_visited, same * child["value"], 0) * (
                below["visits"] - below["draws"]
            )
            if not node["proven"]:
                total = node["network_value"] + values.sum() + draw_value * below["draws"].sum()
                assert -1.01 <= total / node["visits"] <= 1.01


@pytest.mark.parametrize("batch", [1, 16])
def test_actions_are_expanded_in_the_order_of_their_priors(game, some_positions, batch):
    for position in some_positions:
        search = PUCT(game, opinionated, batch=batch)
        search.search(position, simulations=500)
        nodes, edges = search._trees._forest.nodes[0], search._trees._forest.edges[0]
        for node in nodes[1 : search._trees._forest.num_nodes[0]]:
            if node["num_edges"] > 0:
                below = edges[node["first_edge"] : node["first_edge"] + node["num_edges"]]
                assert (np.diff(below["prior"]) <= 0).all()
                assert (np.diff((below["target"] >= 0).astype(int)) <= 0).all()
        root = edges[nodes["first_edge"][0] :][: nodes["num_edges"][0]]
        assert root["action"].tolist() == game.legal_actions(position).tolist()[: len(root)]


def test_sequential_halving_visits_half_of_the_actions_again():
    assert halving_schedule(4, 8) == [0, 0, 0, 0, 1, 1, 2, 2]
    assert halving_schedule(1, 3) == [0, 1, 2]
    assert halving_schedule(0, 0) == []
    order = halving_schedule(16, 32)
    assert len(order) == 32
    assert order[:16] == [0] * 16


def test_schedule_is_that_of_the_simulations_of_the_search(game):
    root = np.array([game.initial], np.uint64)
    exact, larger = (Trees(game, 1, simulations=n, considered=16) for n in (64, 160))
    visits = []
    for trees, simulations in ((exact, 64), (larger, 160), (larger, 64)):
        trees.restart(root, simulations=simulations)
        trees.run(opinionated)
        visits.append(dict(trees.best_line()[1]))
    assert visits[0] == visits[2] != visits[1]


def test_results_have_legal_actions_and_normalized_policies(game, some_positions):
    rows = np.array(some_positions, np.uint64)
    trees = Trees(game, len(rows), simulations=64, considered=16)
    trees.restart(rows, np.random.default_rng(0))
    trees.run(opinionated)
    actions, policy, selected, values = trees.results()
    for tree, position in enumerate(some_positions):
        legal = game.legal_actions(position)
        assert actions[tree, : len(legal)].tolist() == legal.tolist()
        assert (actions[tree, len(legal) :] == -1).all()
        assert policy[tree, : len(legal)].sum() == pytest.approx(1, abs=1e-5)
        assert selected[tree] in legal
        assert -1 <= values[tree] <= 1


def test_improved_policy_avoids_losing_actions(game):
    """The opponent wins in its next turn unless it is stopped."""
    position = game.from_text("b5/6/1b4/r5/r5/5r b")
    trees = Trees(game, 1, simulations=200, considered=32)
    trees.restart(np.array([position], np.uint64))
    trees.run(flat)
    actions, policy, *_ = trees.results()
    for action, chance in zip(actions[0], policy[0], strict=True):
        if action >= 0:
            after = game.apply(position, int(action))
            replies = [game.play_turn(after, turn) for turn in game.turns(after)]
            is_lost = any(game.outcome(reply) == 1 for reply in replies)
            assert not (is_lost and chance > 0.01)


@pytest.mark.parametrize("contempt", [-0.9, 0.9])
def test_contempt_decides_whether_to_repeat(game, contempt):
    legal = game.legal_actions(game.initial)
    back = game.apply(game.initial, int(legal[3]))
    keys = np.array([[game.key(game.initial), game.key(back), 0]], np.uint64)
    trees = Trees(game, 1, simulations=64, considered=16, contempt=contempt)
    trees.restart(np.array([game.initial], np.uint64), earlier=keys)
    trees.run(flat)
    improved = trees.results()
    chances = dict(zip(improved.actions[0].tolist(), improved.policy[0].tolist(), strict=True))
    repetition_chance = chances[int(legal[3])]
    other_chances = [chances[int(action)] for action in legal if action != legal[3]]
    if contempt < 0:
        assert improved.selected_actions[0] == legal[3]
        assert repetition_chance > 100 * max(other_chances)
    else:
        assert improved.selected_actions[0] != legal[3]
        assert repetition_chance < 0.01 * min(other_chances)
    search = PUCT(game, flat, contempt=contempt).search(
        game.initial, simulations=200, earlier=[game.initial, back]
    )
    assert (search.action == legal[3]) == (contempt < 0)


# White has lost a hall.
AHEAD = "1wWwWwWw/1w1w1w1w/1w1w1w1w/8/8/b1b1b1b1/b1b1b1b1/bBbBbBbB b"
BEHIND = "WwWwWwWw/1w1w1w1w/1w1w1w1w/8/8/b1b1b1b1/b1b1b1b1/b1bBbBbB b"


@pytest.mark.parametrize(("text", "contempt"), [(AHEAD, 0.9), (BEHIND, -0.9)])
def test_repetition_rule_overrides_contempt(text, contempt):
    cannon = make_game("cannon")
    position = cannon.from_text(text)
    action = int(cannon.legal_actions(position)[3])
    back = cannon.apply(position, action)
    keys = np.array([[cannon.key(position), cannon.key(back), 0]], np.uint64)
    trees = Trees(cannon, 1, simulations=64, considered=16, contempt=contempt)
    trees.restart(np.array([position], np.uint64), earlier=keys)
    trees.run(flat)
    improved = trees.results()
    chances = dict(zip(improved.actions[0].tolist(), improved.policy[0].tolist(), strict=True))
    other_chances = [chance for move, chance in chances.items() if move not in (-1, action)]
    if text == AHEAD:
        assert improved.selected_actions[0] == action
        assert chances[action] > 100 * max(other_chances)
        assert improved.values[0] > 0.9
    else:
        assert improved.selected_actions[0] != action
        assert chances[action] < 0.01 * min(other_chances)
    policy = PolicyPlayer(cannon, flat, contempt=contempt)
    assert (policy._repetition_value(position, action)) == np.inf
    policy.memory = [position, back]
    assert policy._repetition_value(position, action) == (1 if text == AHEAD else -1)


def test_repetition_score_follows_the_rule():
    cannon, other = make_game("cannon"), make_game("capture_conquer")
    score_of = jit(lambda position, player: repetition_score(position, player))
    ahead, behind = cannon.from_text(AHEAD), cannon.from_text(BEHIND)
    assert score_of(ahead, 0) == -score_of(ahead, 1) == scores.PROVEN - scores.MARGIN + 4
    assert score_of(behind, 0) == -score_of(ahead, 0)
    assert score_of(cannon.initial, 0) == score_of(other.initial, 0) == 0
    # The score is not a proof.
    assert proven_margin(score_of(ahead, 0)) is None


def test_gumbel_noise_samples_the_policy():
    game = make_game("capture_conquer", size=4)
    legal = game.legal_actions(game.initial)
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(1, game.num_actions)).astype(np.float32)

    def fixed_logits(planes):
        return logits.repeat(len(planes), 0), np.zeros(len(planes), np.float32)

    count = 4000
    trees = Trees(game, count, simulations=2, considered=2)
    trees.restart(np.array([game.initial] * count, np.uint64), rng)
    trees.run(fixed_logits)
    frequencies = (
        np.bincount(trees.results().selected_actions, minlength=game.num_actions)[legal] / count
    )
    expected = np.exp(logits[0, legal]) / np.exp(logits[0, legal]).sum()
    np.testing.assert_allclose(frequencies, expected, atol=0.03)


def test_visits_add_up_and_the_most_visited_action_is_played(game):
    result = PUCT(game, opinionated).search(game.initial, simulations=300)
    actions, visits = zip(*result.visits, strict=True)
    assert sorted(actions) == game.legal_actions(game.initial).tolist()
    assert sum(visits) == result.nodes == 300
    assert list(visits) == sorted(visits, reverse=True)
    assert result.action == actions[0]
    assert -1 <= result.value <= 1
    assert len(result.line) == result.depth > 1
    # Raises IllegalAction unless the whole line is legal.
    game.turn_text(game.initial, result.line)
    again = PUCT(game, opinionated).search(game.initial, simulations=300)
    assert again.visits == result.visits


def test_without_time_the_highest_prior_is_played(game):
    result = PUCT(game, opinionated).search(game.initial, seconds=0)
    legal = game.legal_actions(game.initial)
    logits, _ = opinionated(game.observe(game.initial)[np.newaxis])
    assert result.action == max(legal, key=lambda action: logits[0, action])
    assert result.nodes == 0
    assert result.line == (result.action,)


def test_latest_positions_of_long_games_are_remembered(game):
    back = game.key(game.apply(game.initial, int(game.legal_actions(game.initial)[3])))
    for earlier in ([*range(1, 1001), back, 0, 0], [back, *[0] * 1000]):
        trees = Trees(game, 1, simulations=64, considered=16, contempt=-0.9)
        trees.restart(np.array([game.initial], np.uint64), earlier=np.array([earlier], np.uint64))
        trees.run(flat)
        assert trees.results().selected_actions[0] == game.legal_actions(game.initial)[3]


def test_search_stops_at_limits_of_time_and_capacity(game, stopwatch):
    search = PUCT(game, flat, batch=1)
    # One second per evaluated leaf.
    stopwatch(tick=1)
    result = search.search(game.initial, seconds=20)
    # The clock is read once more at the end.
    assert 15 < result.nodes <= result.seconds <= 21
    small = PUCT(game, flat, capacity=40 * game.num_actions)
    assert 1 < small.search(game.initial, simulations=100_000).nodes < 40 * game.num_actions


def test_single_action_is_played_without_a_search(game):
    position = game.from_text("6/6/6/5b/r4b/1r1r1r b")
    result = PUCT(game, flat).search(position, simulations=1000)
    assert result.line == tuple(game.legal_actions(position))
    assert (result.nodes, result.value) == (0, None)


@pytest.mark.parametrize("evaluation", ["standard", "published"])
def test_alpha_beta_has_half_of_the_value_of_a_leaf(game, evaluation):
    """The evaluation `published` is asymmetric, so both seats are checked."""
    search, alpha_beta = PUCT(game, flat, evaluation=evaluation), AlphaBeta(game, evaluation)
    rng, values, seats = np.random.default_rng(0), set(), set()
    for turns in range(20):
        position = play_random_turns(game, turns, rng)
        expected = alpha_beta.search(position, depth=2).value
        # A win that the tree proves needs no evaluation.
        if abs(expected) < 1:
            # Without time, only the root is evaluated.
            assert search.search(position, seconds=0).value == pytest.approx(expected / 2)
            values.add(expected)
            seats.add(game.to_move(position))
    assert len(values) > 10
    assert seats == {0, 1}


def test_invalid_arguments_and_finished_games_are_rejected(game):
    with pytest.raises(UnknownOption, match="no evaluation 'best'"):
        PUCT(game, flat, evaluation="best")
    search = PUCT(game, flat)
    for limit, message in (
        ({}, "give at least one of them"),
        ({"simulations": 0}, "simulations=0; expected: an integer, 1 or more"),
        ({"seconds": -1}, "seconds=-1; expected: 0 or more"),
    ):
        with pytest.raises(BadOption, match=message):
            search.search(game.initial, **limit)
    for options, message in (
        ({"exploration": -1}, "exploration=-1"),
        ({"contempt": 2}, "contempt=2; expected: -1 to 1"),
        ({"batch": 0}, "batch=0"),
        ({"capacity": 1229}, "capacity=1229; expected: an integer, 1230 or more"),
        ({"count": 0}, "count=0"),
        ({"considered": 4}, "considered=4 needs a number of simulations"),
    ):
        with pytest.raises(BadOption, match=message):
            Trees(game, **options)
    with pytest.raises(BadOption, match=r"batch=20000; expected: 1 to \d+, with room for"):
        PUCT(game, flat, batch=20_000)
    trees, root = Trees(game, 2, simulations=4), np.array([game.initial] * 2, np.uint64)
    with pytest.raises(BadOption, match="simulations=5; expected: an integer, 1 to 4"):
        trees.restart(root, simulations=5)
    with pytest.raises(BadOption, match="batch=2; expected: an integer, 1 to 1"):
        trees.restart(root, batch=2)
    with pytest.raises(ValueError, match=r"expected: \(2, 5\)"):
        trees.restart(root[:1])
    trees.restart(root)
    logits, values = flat(trees.select())
    for wrong in ((logits[:, :300], values), (logits[:1], values[:1]), (logits, values[:1])):
        with pytest.raises(ValueError, match=r"expected: \(2, 410\), \(2,\)"):
            trees.expand(*wrong)
    trees.expand(logits, values)
    with pytest.raises(ValueError, match=r"expected: \(0, 410\), \(0,\)"):
        # The leaves are expanded already.
        trees.expand(logits, values)
    with pytest.raises(IllegalAction, match="the game is over"):
        search.search(game.from_text("bb4/6/6/6/6/rr3b r"), simulations=1)


def test_values_of_the_roots_children_are_looked_up():
    game = make_game("capture_conquer", size=5, corner=2)
    tables = Tablebase(game)
    # One simulation visits one child.
    search = PUCT(game, flat, batch=1, tables=tables)
    won = (position for position in sample_uniform(tables, 400) if tables.probe(position).value > 0)
    positions = map(game.from_text, ("1b3/3br/1b3/5/1r1r1 b", "5/1b3/b3r/b3r/3r1 r"))
    for position in (*positions, *won):
        result = search.search(position, simulations=1)
        assert result.action in tables.probe(position).value_keeping, game.to_text(position)
