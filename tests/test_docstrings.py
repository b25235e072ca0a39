"""Public functions that take or return arrays say their shapes and dtypes, in defined letters."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ARRAY = re.compile(r"\bNDArray\b|\bTensor\b")
SHAPE = re.compile(r"\b(bool|u?int\d*|float\d+)\[[^]]+\]|\[[A-Z][^]]*\]")
ELSEWHERE = re.compile(
    r"\b[Aa]s `|any shape|`shape`|\bas arrays \w+\.[A-Z]|`(snapshot|state|flat)`"
)

TOLD = re.compile(r"(?:\b(?:bool|u?int\d*|float\d+)|# )\[([^]\n]+)\]")  # a shape in any text
LETTER = re.compile(r"(?<![\w.])[A-Z](?![\w.(])")


def undefined(source):
    """Return the letters of shapes in a module that its docstring does not define."""
    told = ast.get_docstring(ast.parse(source)) or ""
    used = {letter for shape in TOLD.findall(source) for letter in LETTER.findall(shape)}
    return used - set(LETTER.findall(re.sub(r"\[[^]]*\]", "", told)))


def silent(tree, prefix=""):
    """Yield the public functions with arrays in their signature and no shape in the docstring."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from silent(node, f"{node.name}.")
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            told, returned = ast.get_docstring(node) or "", node.returns
            arguments = ast.unparse(node.args) + (ast.unparse(returned) if returned else "")
            if ARRAY.search(arguments) and not (SHAPE.search(told) or ELSEWHERE.search(told)):
                yield prefix + node.name


@pytest.mark.parametrize("package", ["cc_env", "agents", "training"])
def test_shapes_are_told(package):
    for path in (ROOT / package).rglob("*.py"):
        assert not list(silent(ast.parse(path.read_text()))), path


def test_a_function_that_tells_no_shape_is_noticed():
    tree = ast.parse('def f(x: NDArray[np.int8]) -> int:\n    """Count ones."""')
    assert list(silent(tree)) == ["f"]
    tree = ast.parse('def f(x: NDArray[np.int8]) -> int:\n    """Count the ones of int8[N]."""')
    assert not list(silent(tree))


@pytest.mark.parametrize("package", ["cc_env", "agents", "training"])
def test_the_letters_of_shapes_are_defined_once_a_module(package):
    for path in (ROOT / package).rglob("*.py"):
        assert not undefined(path.read_text()), path


@pytest.mark.parametrize(
    ("head", "letters"),
    [
        ("Rows.", {"N", "B"}),
        ("Rows, int8[N, B].", {"N", "B"}),
        ("Shapes: N rows.", {"B"}),
        ("Shapes: N rows, B = 2.", set()),
    ],
)
def test_a_letter_that_is_not_defined_is_noticed(head, letters):
    body = 'def f(x):\n    """Return int64[N] for float32[>= 2 * B, WIDTH]."""'
    assert undefined(f'"""{head}"""\n{body}') == letters
