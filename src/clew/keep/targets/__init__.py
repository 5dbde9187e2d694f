"""Programs for other machines: C, ONNX, JAX.

    Program -> lower.py -> kernels (kernels.py) -> to_c.py, to_jax.py, to_onnx.py

Steps are lowered by tables: elementwise operations to one scalar expression (elementwise.py, of the functions in
functions.py), others to kernels (the `@lowers` functions). A target knows kernels and scalar functions only.

For C, rolling.py finds kernels that repeat, and schedule.py gives memories their places in arenas. c_kernels.py writes
the loops of a kernel, and c_places.py where its operands lie in each iteration. storage.py rounds constants to fewer
bytes, and in_numpy.py computes the error.
"""
