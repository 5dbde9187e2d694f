"""Every public callable with hostile arguments, in forked children: `python -m tests.hostile --seconds 60`."""
