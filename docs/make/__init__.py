"""Generates tables, pictures and pages of the documentation.

`python -m docs.make` writes the tables into the pages in docs/, and the pictures beside them.

blocks     comments of a page, each followed by its text: `<!-- make: planes checkers -->`
pages      the pages and pictures that are out of date
facts      tables of a game: spaces, planes, options, endings, positions
actions    what action ids mean, with the drawn index map
rules      a game's lessons as the text of its rules
exact      what the shipped tables of exact values say
strength   what the tournaments of the trained networks measured
commands   the reference of the command line
api        the reference of the modules
architecture  the diagram of the packages
notebooks  notebooks as pages, with the outputs that they are saved with
hooks      what MkDocs calls
"""

from docs.make import actions, api, architecture, commands, exact, facts, rules, strength

MODULES = actions, api, architecture, commands, exact, facts, rules, strength
