"""Generates tables, pictures and pages of the documentation.

`python -m docs.make` writes the tables into the pages in docs/, and the pictures to docs/pictures/.

blocks     comments of a page, each followed by generated text: `<!-- make: planes checkers -->`
pages      pages and pictures that are out of date
facts      tables of a game: spaces, planes, options, endings, positions
actions    what action ids mean, with the drawn index map
rules      a game's lessons as the text of its rules
exact      counts of the packaged tables of exact values
baselines  tables and learning curves of the baselines
ladders    ladders of opponents, and puzzles
strength   results of the trained networks in tournaments
commands   the reference of the command line
api        the reference of the modules
architecture  the diagram of the packages
notebooks  notebooks as pages, with their stored outputs
hooks      hooks of MkDocs
"""

from docs.make import (
    actions,
    api,
    architecture,
    baselines,
    commands,
    exact,
    facts,
    ladders,
    rules,
    strength,
)

MODULES = (
    actions,
    api,
    architecture,
    baselines,
    commands,
    exact,
    facts,
    ladders,
    rules,
    strength,
)
