"""Plain words: variables are called by nouns, and sentences are English, in all that is written.

What is looked for was once all over the project; each has a plainer word.
"""

import ast
import json
import re
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[1]
NAMES = {"each", "found", "one"}  # instead of a noun that says what it is
SENTENCES = [  # as regular expressions
    r"\banew\b",
    r"(?<!there )\b(is|are|was|were) no (?!longer\b)(?!$)\w+",  # "is not a", "are not"
    r"\bare none\b",
    r"\bless (losses|draws|wins)\b",
    r"\bcomes? along\b",
    r"-manieth\b",
    r"\bknows? no (draw|repetition|masks?)\b",
    r"\bloud(_| )actions?\b",
    r"\bno evaluation should come before\b",
    r"\bso many turns led to\b",
    r"\bends after so long\b",
    r"\bcounts the references\b",
    r"\balmost a won game\b",
    r"\bonce by each credit\b",
    r"_settles\b|\bstagnation\b(?=\s*[:=(])",
]
TEXTS = {".py", ".md", ".toml", ".cfg", ".js", ".html", ".css", ".c", ".ipynb", ""}
UNREAD = "CHANGELOG.md", "LICENSE", "tests/test_words.py", "docs/assets/iframe-worker.js"
BINDING = re.compile(r"\b(?:const|let|var) (each|found|one)\b|\(?\b(each|found|one)\)? =>")


def written():
    """Return the files that people write."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    paths = [ROOT / line for line in listed.stdout.splitlines() if line not in UNREAD]
    return [path for path in paths if path.suffix in TEXTS and path.is_file()]


def text_of(path):
    """Return the text of a file; of a notebook its cells, without their outputs."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    return "\n\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])


def code_of(path):
    """Return the Python of a file, of the blocks of a page, or of the cells of a notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return text
    if path.suffix == ".md":
        return "\n".join(map(dedent, re.findall(r"^ *```python\n(.*?)^ *```", text, re.S | re.M)))
    cells = (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code")
    return "\n".join(re.sub(r"(?m)^[%!].*$", "", "".join(cell["source"])) for cell in cells)


def bound(code):
    """Yield the names that Python code binds, and their lines."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node.lineno


FILES = written()


@pytest.mark.skipif(not FILES, reason="an archive without its history")
def test_variables_are_called_by_nouns():
    for path in FILES:
        if path.suffix in (".py", ".ipynb", ".md"):
            wrong = [(name, line) for name, line in bound(code_of(path)) if name in NAMES]
            assert not wrong, path
        if path.suffix == ".js":
            assert not BINDING.findall(path.read_text(encoding="utf-8")), path


@pytest.mark.skipif(not FILES, reason="an archive without its history")
@pytest.mark.parametrize("sentence", SENTENCES)
def test_no_sentence_has_to_be_translated(sentence):
    for path in FILES:
        match = re.search(sentence, text_of(path), re.IGNORECASE | re.MULTILINE)
        assert not match, f"{path}: {match}"


@pytest.mark.parametrize("text", ["a man is no king", "there are none", "we search anew"])
def test_what_is_looked_for_is_seen(text):
    assert any(re.search(sentence, text) for sentence in SENTENCES)


@pytest.mark.parametrize("text", ["there is no pass", "it is no longer there", "is none: None"])
def test_english_is_left_alone(text):
    assert not any(re.search(sentence, text) for sentence in SENTENCES)


def test_bindings_of_every_kind_are_seen():
    code = "for each in x: pass\ny = [one for one in x]\ndef f(found): self.found = 1"
    names = sorted(name for name, _ in bound(code) if name in NAMES)
    assert names == ["each", "found", "found", "one"]
    assert BINDING.findall("const found = 1; list.map((each) => each)")


@pytest.mark.skipif(not FILES, reason="an archive without its history")
def test_play_is_the_name_of_handlers_of_that_message_alone():
    """Nine functions were called `_play`, each for something else."""
    paths = [path for path in FILES if path.suffix == ".py"]
    called = {
        path.stem for path in paths if re.search(r"^ *(async )?def _play\(", text_of(path), re.M)
    }
    assert called == {"notebook", "room"}
