"""Verbs for a graph that lives: `free`, `cut`."""
