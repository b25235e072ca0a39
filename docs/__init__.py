"""The documentation: its pages are Markdown, its tables and pictures are made by `docs.make`."""
