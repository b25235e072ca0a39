"""The web application: games over HTTP and WebSocket, analysis, and the page."""
