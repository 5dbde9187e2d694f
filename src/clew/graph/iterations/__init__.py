"""Graphs from one iteration of a loop to the next: ``watch`` warns when they pile up, ``diff`` tells what changed."""
