import importlib.util as _u, glob as _g, os as _o
from clew import _core
_core.set_package_folder(_o.path.dirname(__file__) + "/")
_s = _u.find_spec("scipy_openblas32")
_core.set_blas_path(_g.glob(_o.path.join(_o.path.dirname(_s.origin), "lib", "libscipy_openblas*.so"))[0])
globals().update(_core.functions); globals().update(_core.dtypes)
Tensor=_core.Tensor; tensor=_core.tensor; from_numpy=_core.from_numpy; dtype=_core.dtype
is_grad_enabled=_core.is_grad_enabled
class Size(tuple):
    def __repr__(self): return f"torch.Size({list(self)})"
    def numel(self):
        n=1
        for s in self: n*=s
        return n
_core.set_size_type(Size)
