"""External programs and how to talk to them."""
