"""Catalogue of games, option parsing, import allow-list, and plugins imported on first use."""
