"""Benchmarks: clew beside PyTorch, JAX, NumPy and autograd, each in a process of its own, in turns.

python -m bench --list
python -m bench -k mlp --threads 1
"""
