"""The command line `cc_env`."""
