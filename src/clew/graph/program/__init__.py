"""What is known of the user's program without looking at a graph.

Its frames, the names that lead to a tensor, the loops around a line, the modules that ran.
"""
