"""``clew.graph.draw`` and ``film``: a graph as columns of numbers, folded into groups, and drawn as SVG and DOT.

The page that a browser shows is ``clew.graph.page``.
"""
