"""Protocols for external programs: UGI, over pipes and TCP."""
