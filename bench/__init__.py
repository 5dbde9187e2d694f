"""Benchmarks: what the engine costs beside PyTorch and NumPy, measured in one run."""
