"""The protocol of Cannon tournaments over TCP: messages and the server."""
