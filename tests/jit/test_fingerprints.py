"""The sources that compiled code depends on: imports, wherever they are, and registrations."""

import ast
import functools
import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import cc_env
from cc_env.games.factory import make_game
from cc_env.jit import fingerprints
from cc_env.registry.catalogue import GAMES

FILES = {
    "deep/__init__.py": "from deep.extra import SIZE",
    "deep/extra.py": "SIZE = 3",
    "deep/rules.py": "import deep.tables as t\nfrom . import bits\nfrom .inner.far import X",
    "deep/tables.py": "def f():\n    if True:\n        from deep import late, __name__",
    "deep/bits.py": "import numpy, os.path",
    "deep/late.py": "try:\n    import other.thing\nexcept ImportError:\n    pass",
    "deep/inner/__init__.py": "",
    "deep/inner/far.py": "from ..near import X",
    "deep/near.py": "X = 1",
    "deep/unused.py": "from deep import rules",
    "deep/evaluation.py": "",
    "other/__init__.py": "",
    "other/thing.py": "",
}


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Packages outside of the project, imported; only `deep` compiles."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(fingerprints, "_packages", set())
    monkeypatch.setattr(fingerprints, "_IMPORT_TIME", 2**62)
    importlib.import_module("deep.rules")
    importlib.import_module("other")
    fingerprints.follow_package("deep.rules")
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] in ("deep", "other")]:
        del sys.modules[name]
    fingerprints._imports.cache_clear()
    fingerprints._content_hash.cache_clear()


def followed(*modules):
    return set(fingerprints.source_files(modules))


def test_all_forms_of_imports_are_followed(tree):
    names = {"rules", "tables", "bits", "inner.far", "near", "late", "extra"}
    outside = {"other", "other.thing"}
    assert followed("deep.rules") == {"deep", *(f"deep.{name}" for name in names)} | outside
    assert followed("deep.bits") == {"deep.bits"}


def test_installed_packages_are_followed_only_if_they_compile(tree, monkeypatch):
    assert followed("deep.late") == {"deep.late", "other", "other.thing"}
    monkeypatch.setattr(fingerprints, "_INSTALL_FOLDERS", (tree,))
    fingerprints._is_installed.cache_clear()
    assert followed("deep.late") == {"deep.late"}
    fingerprints.follow_package("other.thing")
    assert followed("deep.late") == {"deep.late", "other", "other.thing"}
    fingerprints._is_installed.cache_clear()


def test_packages_of_another_environment_count_as_installed(tmp_path, monkeypatch):
    folder = tmp_path / "lib/site-packages"
    folder.mkdir(parents=True)
    (folder / "shared.py").touch()
    monkeypatch.setitem(sys.modules, "shared", SimpleNamespace(__file__=str(folder / "shared.py")))
    fingerprints._is_installed.cache_clear()
    assert followed("shared") == set()


def test_registered_functions_count_as_imports(tree, monkeypatch):
    monkeypatch.delitem(fingerprints._registered, "deep.bits", raising=False)
    before = fingerprints.fingerprint(["deep.bits"])
    function = SimpleNamespace(__module__="deep.evaluation", __qualname__="one")
    fingerprints.register("deep.bits", {"evaluate": function})
    assert followed("deep.bits") == {"deep.bits", "deep.evaluation"}
    alone = fingerprints.fingerprint(["deep.bits"])
    function.__qualname__ = "other"
    fingerprints.register("deep.bits", {"evaluate": function})
    other = fingerprints.fingerprint(["deep.bits"])
    assert len({before, alone, other}) == 3
    fingerprints._registered.pop("deep.bits")


@pytest.mark.parametrize("edited", ["rules", "late", "inner/far"])
def test_fingerprint_changes_with_every_followed_source(tree, edited):
    before = fingerprints.fingerprint(["deep.rules"])
    with (tree / "deep" / f"{edited}.py").open("a") as file:
        file.write("\n# edited")
    fingerprints._content_hash.cache_clear()
    assert fingerprints.fingerprint(["deep.rules"]) != before is not None
    assert fingerprints.fingerprint(["deep.bits"]) is not None


def test_fingerprint_ignores_other_sources(tree):
    before = fingerprints.fingerprint(["deep.rules"])
    (tree / "deep/unused.py").write_text("# edited")
    fingerprints._content_hash.cache_clear()
    assert fingerprints.fingerprint(["deep.rules"]) == before


def test_source_edited_after_process_start_has_no_fingerprint(tree, monkeypatch):
    monkeypatch.setattr(fingerprints, "_IMPORT_TIME", (tree / "deep/late.py").stat().st_mtime - 1)
    assert fingerprints.fingerprint(["deep.rules"]) is None


def test_source_edited_before_this_module_has_no_fingerprint(tree, monkeypatch):
    edited = (tree / "deep/late.py").stat().st_mtime
    monkeypatch.setattr(fingerprints, "_IMPORTED_BEFORE", {"deep.late"})
    monkeypatch.setattr(fingerprints, "_PROCESS_START_TIME", edited + 1)
    assert fingerprints.fingerprint(["deep.late"]) is not None
    monkeypatch.setattr(fingerprints, "_PROCESS_START_TIME", edited - 1)
    assert fingerprints.fingerprint(["deep.late"]) is None
    assert fingerprints.fingerprint(["deep.bits"]) is not None


FORK = """
import os, pathlib, edited, kept
pathlib.Path("edited.py").write_text("SIZE = 2")
if os.fork() == 0:
    from cc_env.jit import fingerprints
    print([fingerprints.fingerprint([name]) is not None for name in ("edited", "kept")])
else:
    os.wait()
"""


@pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="the start of a process is in /proc"
)
def test_fork_uses_the_start_time_of_its_parent(tmp_path):
    for name in ("edited", "kept"):
        (tmp_path / f"{name}.py").write_text("SIZE = 1")
    path = os.pathsep.join((str(tmp_path), str(Path(fingerprints.__file__).parents[2])))
    process = subprocess.run(
        [sys.executable, "-c", FORK],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout == "[False, True]\n"


def test_source_edited_during_reading_has_no_fingerprint(tree, monkeypatch):
    began = (tree / "deep/bits.py").stat().st_ctime + 60

    @functools.cache
    def read_and_edit(path):
        os.utime(path, (began + 1, began + 1))
        return b"what it was"

    with monkeypatch.context() as context:
        context.setattr(fingerprints, "_content_hash", read_and_edit)
        context.setattr(fingerprints, "_IMPORT_TIME", began)
        assert fingerprints.fingerprint(["deep.bits"]) is None


@pytest.mark.parametrize(
    "source",
    [
        "from deep import (  # see (below)\n    rules,  # a ) here\n    late as l,\n)",
        "from deep import rules, \\\n    late",
        "if x: import deep.late; from . import tables # why",
        "class A:\n    from .. import near; f: int = 1;from deep.inner import far",
        "try:\n\tfrom.inner import far\nexcept A:\timport deep . late as d , deep.bits",
        "def f():\n    return 1\nfrom deep import *",
    ],
)
def test_import_statements_are_those_of_the_parser(source):
    found = {ast.dump(node) for node in fingerprints._import_statements(source)}
    kinds = ast.Import, ast.ImportFrom
    parsed = {ast.dump(node) for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)}
    assert found == parsed
    assert parsed


def test_no_import_of_the_library_is_missed():
    kinds = ast.Import, ast.ImportFrom
    for path in Path(cc_env.__file__).parent.rglob("*.py"):
        source = path.read_text()
        found = {ast.dump(node) for node in fingerprints._import_statements(source)}
        parsed = [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
        assert {ast.dump(node) for node in parsed} <= found, path


def test_import_after_a_byte_order_mark_is_followed(tree):
    (tree / "deep/late.py").write_text("import deep.near", encoding="utf-8-sig")
    assert followed("deep.late") == {"deep", "deep.extra", "deep.late", "deep.near"}


def test_sentences_are_no_imports():
    source = '"""\nimport the game\nfrom here on\nfrom deep import rules\n"""\n'
    (node,) = fingerprints._import_statements(source)
    assert ast.unparse(node) == "from deep import rules"


def test_source_replaced_by_an_older_file_has_no_fingerprint(tree, monkeypatch):
    path = tree / "deep/late.py"
    os.utime(path, (1, 1))
    monkeypatch.setattr(fingerprints, "_IMPORT_TIME", path.stat().st_ctime - 1)
    assert fingerprints.fingerprint(["deep.rules"]) is None


def test_module_without_a_source_has_no_fingerprint(tree):
    assert fingerprints.fingerprint(["deep.rules", "deep.nowhere"]) is None
    assert fingerprints.fingerprint(["sys"]) is None


@pytest.mark.parametrize("name", GAMES)
def test_rules_depend_on_no_other_game_and_no_upper_layer(name):
    module = type(make_game(name).initial).__module__
    modules = {tuple(parts.split(".")) for parts in fingerprints.source_files([module])}
    assert {
        ("cc_env", "core", "rules"),
        ("cc_env", "jit", "compiler"),
        tuple(module.split(".")),
    } <= modules
    assert {parts[1] for parts in modules} == {"core", "errors", "games", "jit"}
    assert {parts[2] for parts in modules if parts[1] == "games"} & set(GAMES) == {name}
