"""Programs for other machines: C, ONNX, JAX.

    Program -> lower.py -> kernels (kernels.py) -> to_c.py, to_jax.py, to_onnx.py

Steps are lowered by tables: elementwise operations to one scalar expression (elementwise.py, of the functions in
functions.py), others to kernels (the `@lowers` functions). A target knows kernels and scalar functions only.
"""
