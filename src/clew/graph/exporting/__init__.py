"""A graph in the formats of other viewers: one list of nodes, written in three ways."""
