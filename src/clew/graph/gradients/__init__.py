"""Gradients during a backward: node by node, and how large they are in each layer."""
