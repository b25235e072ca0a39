"""Docstrings of public functions with arrays give shapes and dtypes, in defined letters."""

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

SHAPE_IN_TEXT = re.compile(
    r"(?:\b(?:bool|u?int\d*|float\d+)|# )\[([^]\n]+)\]"
)  # a shape in any text
LETTER = re.compile(r"(?<![\w.])[A-Z](?![\w.(])")


def undefined_letters(source):
    """Return the letters of shapes in a module that its docstring does not define."""
    docstring = ast.get_docstring(ast.parse(source)) or ""
    used = {letter for shape in SHAPE_IN_TEXT.findall(source) for letter in LETTER.findall(shape)}
    return used - set(LETTER.findall(re.sub(r"\[[^]]*\]", "", docstring)))


def without_shapes(tree, prefix=""):
    """Yield the public functions with arrays in their signature and no shape in the docstring."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from without_shapes(node, f"{node.name}.")
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            docstring, returned = ast.get_docstring(node) or "", node.returns
            arguments = ast.unparse(node.args) + (ast.unparse(returned) if returned else "")
            if ARRAY.search(arguments) and not (
                SHAPE.search(docstring) or ELSEWHERE.search(docstring)
            ):
                yield prefix + node.name


@pytest.mark.parametrize("package", ["cc_env", "agents", "training"])
def test_docstrings_give_array_shapes(package):
    for path in (ROOT / package).rglob("*.py"):
        assert not list(without_shapes(ast.parse(path.read_text()))), path


def test_docstring_without_shape_is_found():
    tree = ast.parse('def f(x: NDArray[np.int8]) -> int:\n    """Count ones."""')
    assert list(without_shapes(tree)) == ["f"]
    tree = ast.parse('def f(x: NDArray[np.int8]) -> int:\n    """Count the ones of int8[N]."""')
    assert not list(without_shapes(tree))


@pytest.mark.parametrize("package", ["cc_env", "agents", "training"])
def test_module_docstrings_define_shape_letters(package):
    for path in (ROOT / package).rglob("*.py"):
        assert not undefined_letters(path.read_text()), path


@pytest.mark.parametrize(
    ("head", "letters"),
    [
        ("Rows.", {"N", "B"}),
        ("Rows, int8[N, B].", {"N", "B"}),
        ("Shapes: N rows.", {"B"}),
        ("Shapes: N rows, B = 2.", set()),
    ],
)
def test_undefined_shape_letter_is_found(head, letters):
    body = 'def f(x):\n    """Return int64[N] for float32[>= 2 * B, WIDTH]."""'
    assert undefined_letters(f'"""{head}"""\n{body}') == letters
