"""Arrows point down: a module imports only what lies below it."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]

# From the bottom up; modules of one line may import each other.
LAYERS = [
    [
        "cc_env.registry.catalogue",
        "cc_env.jit.fingerprints",
        "cc_env.jit.raw_arrays",
        "cc_env.errors",
    ],
    ["cc_env.errors", "cc_env.registry.plugins"],
    ["cc_env.jit.threads", "cc_env.match.confidence", "cc_env.jit.aligned_arrays"],
    [
        "cc_env.files",
        "cc_env.strict_json",
        "cc_env.registry.options",
        "cc_env.jit.disk_cache",
        "cc_env.registry.import_allowlist",
    ],
    ["cc_env.jit.compiler"],
    ["cc_env.core.bitboard", "cc_env.core.grid"],
    ["cc_env.core.rules"],
    ["cc_env.core.symmetry", "cc_env.core.random_streams", "cc_env.core.bitboard128"],
    ["cc_env.exact", "cc_env.tablebase.ranking", "cc_env.tablebase.values"],
    ["cc_env.core.game", "cc_env.core.game", "cc_env.core.game"],
    ["cc_env.solver.retrograde", "cc_env.tablebase.lookup", "cc_env.tablebase.table_file"],
    ["cc_env.tablebase.tablebase"],
    ["cc_env.learned_evaluation"],
    ["cc_env.games", "cc_env.search"],
    ["cc_env.solver.solver", "cc_env.solver.cross_check"],
    [
        "cc_env.match.openings",
        "cc_env.verification.perft",
        "cc_env.match.random_games",
        "cc_env.match.match",
        "cc_env.rendering.picture",
    ],
    ["cc_env.verification.recordings"],
    ["cc_env.verification.reference_positions"],
    ["cc_env.match.record"],
    ["cc_env.match.referee"],
    ["cc_env.players.perfect", "cc_env.accuracy.hard_positions"],
    [
        "cc_env.protocols.channel",
        "cc_env.protocols.ugi",
        "cc_env.protocols.process",
        "cc_env.protocols.tcp",
    ],
    ["cc_env.protocols.program"],
    ["cc_env.players.specs"],
    ["cc_env.accuracy.decisions"],
    ["cc_env.envs", "cc_env.openspiel"],
    ["cc_env", "cc_env.arena"],
    ["cc_env.verification.conformance"],
    [
        "cc_env.protocols.cannon_tournament.messages",
        "cc_env.protocols.cannon_tournament.server",
        "cc_env.play.ugi_engine",
    ],
    ["cc_env.cli.arguments"],
    ["cc_env.cli.program_commands"],
    ["cc_env.cli.application"],
    ["cc_env.cli.tablebase_commands"],
    ["cc_env.play"],
    ["cc_env.cli.warmup"],
    ["cc_env.cli.commands"],
    ["cc_env.__main__"],
    ["agents"],
    ["training"],
    ["benchmarks"],
]
PACKAGES = ("cc_env", "agents", "training", "benchmarks")


def layer_of(module):
    """Return the height of a module: that of the longest name in LAYERS that it lies in."""
    heights = {name: height for height, names in enumerate(LAYERS) for name in names}
    while module not in heights:
        module = module.rpartition(".")[0]
        if module == "cc_env":
            raise AssertionError("a module of cc_env is missing from LAYERS")
    return heights[module]


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            for alias in node.names:
                inside = ROOT / node.module.replace(".", "/") / alias.name
                is_module = inside.is_dir() or inside.with_suffix(".py").exists()
                yield f"{node.module}.{alias.name}" if is_module else node.module


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_import_points_up():
    up = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            module = module_of(path)
            for target in imports_of(path):
                # The version is a constant that records may name.
                if target.split(".")[0] not in PACKAGES or target == "cc_env":
                    continue
                if layer_of(target) > layer_of(module):
                    up.append(f"{module} imports {target}")
    assert not up


def test_importing_the_package_does_not_import_the_compiler():
    import subprocess
    import sys

    code = "import cc_env, sys; print('numba' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"
