"""``clew.explain``: a graph, or an error that it raised, told as records and as text."""
