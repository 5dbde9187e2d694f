"""How training by several ranks scales: measured, by a model of cost, and as a timeline.

`python -m bench.scaling --out docs/pictures` does it all.
"""
