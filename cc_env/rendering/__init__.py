"""Pictures of positions: text, SVG and pixels."""
