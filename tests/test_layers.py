"""Arrows point down: a module imports only what lies below it."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]

# From the bottom up; modules of one line may import each other.
LAYERS = [
    ["cc_env.catalogue", "cc_env.sources", "cc_env.borrow", "cc_env.escaping"],
    ["cc_env.errors", "cc_env.checkout"],
    ["cc_env.threads", "cc_env.confidence", "cc_env.cacheline"],
    ["cc_env.files", "cc_env.strict_json", "cc_env.options", "cc_env.cache", "cc_env.trust"],
    ["cc_env.compile"],
    ["cc_env.bits", "cc_env.grid"],
    ["cc_env.rules"],
    ["cc_env.symmetry", "cc_env.randomness", "cc_env.wide"],
    ["cc_env.exact", "cc_env.exact.numbering", "cc_env.exact.values"],
    ["cc_env.game", "cc_env.notation", "cc_env.look"],
    ["cc_env.exact.retrograde", "cc_env.exact.solved", "cc_env.exact.table"],
    ["cc_env.exact.tables"],
    ["cc_env.learned"],
    ["cc_env.games", "cc_env.search"],
    ["cc_env.exact.solver", "cc_env.exact.check"],
    ["cc_env.openings", "cc_env.perft", "cc_env.playouts", "cc_env.match", "cc_env.pictures"],
    ["cc_env.recordings"],
    ["cc_env.oracle"],
    ["cc_env.record"],
    ["cc_env.referee"],
    ["cc_env.exact.player", "cc_env.exact.hardest"],
    ["cc_env.play.channel", "cc_env.play.words", "cc_env.play.process", "cc_env.play.tcp"],
    ["cc_env.play.program"],
    ["cc_env.players"],
    ["cc_env.exact.accuracy"],
    ["cc_env.envs", "cc_env.openspiel"],
    ["cc_env", "cc_env.arena"],
    ["cc_env.conformance"],
    ["cc_env.play.wire", "cc_env.play.tournament", "cc_env.play.engine"],
    ["cc_env.arguments"],
    ["cc_env.play.program_commands"],
    ["cc_env.terminal"],
    ["cc_env.exact.command"],
    ["cc_env.play"],
    ["cc_env.warm"],
    ["cc_env.commands"],
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
