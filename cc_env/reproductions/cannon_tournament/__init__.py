"""The Cannon tournament's protocols: server and client over TCP, and player programs."""
