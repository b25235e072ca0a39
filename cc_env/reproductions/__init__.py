"""Reproductions of earlier programs. The rest of the library does not build on them.

cannon_tournament    the server and the clients of the Cannon tournament, and the lines of its
                     player programs: `host`, `join` and the player `program:protocol=cannon`
"""
