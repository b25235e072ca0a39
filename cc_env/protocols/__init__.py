"""Protocols for external programs: UGI and the Cannon tournament, over pipes and TCP."""
