"""Points that fill a cube more evenly than random ones."""

from __future__ import annotations

from typing import Any

import numpy

import clew
from clew import Tensor

from ._scipy import scipy

__all__ = ["SobolEngine"]


class SobolEngine:
    """Points of a Sobol sequence in [0, 1)^d, those of PyTorch (direction numbers of Joe and Kuo, from SciPy).

    Args:
        dimension: d, up to 21,201.
        scramble: multiply by random lower triangular matrices of bits and shift by random bits, which keeps the
            sequence even and makes it unbiased.
        seed: of the scrambling; the same seed gives PyTorch's points.

    Raises:
        ValueError: `dimension` is out of range.
        ImportError: SciPy is not installed.

    Example:
        >>> torch.quasirandom.SobolEngine(2).draw(3)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        qmc = scipy("stats.qmc", "quasirandom.SobolEngine")

        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.num_generated = 0
        directions = numpy.asarray(qmc.Sobol(dimension, scramble=False, bits=self.MAXBIT)._sv, numpy.int64)
        self.shift = clew.zeros(dimension, dtype=clew.int64)
        if scramble:
            directions = self._scrambled(directions)
        self.sobolstate = clew.from_numpy(directions.copy())
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)

    def _scrambled(self, directions: Any) -> Any:
        generator = None
        if self.seed is not None:
            generator = clew.Generator()
            generator.manual_seed(self.seed)
        bits, powers = self.MAXBIT, 2 ** numpy.arange(self.MAXBIT)
        flips: Any = clew.randint(2, (self.dimension, bits), generator=generator)
        self.shift = clew.from_numpy(flips.numpy() @ powers)
        draws: Any = clew.randint(2, (self.dimension, bits, bits), generator=generator)
        # Each row of a matrix as an integer, its first element the highest bit.
        rows = (numpy.tril(draws.numpy(), -1) + numpy.eye(bits, dtype=numpy.int64)) @ powers[::-1]
        scrambled = numpy.zeros_like(directions)
        for place in range(bits):
            common = rows[:, place, None] & directions
            for half in (16, 8, 4, 2, 1):  # the parity of the bits moves to the lowest one
                common ^= common >> half
            scrambled |= (common & 1) << (bits - 1 - place)
        return scrambled

    def _after(self, count: int) -> Any:
        """The point that `count` steps lead to: of each bit of the Gray code of `count` the direction number."""
        code, state = count ^ (count >> 1), self.shift.numpy().copy()
        for place in range(self.MAXBIT):
            if code >> place & 1:
                state ^= self.sobolstate.numpy()[:, place]
        return state

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next `n` points (n, d), of the default dtype unless another is given."""
        kind = clew.get_default_dtype() if dtype is None else dtype
        begin, steps = max(self.num_generated - 1, 0), n - (self.num_generated == 0)
        # Each step flips the direction number of the lowest bit that is 0 in the step's number.
        numbers = numpy.arange(begin, begin + max(steps, 0), dtype=numpy.int64)
        places = numpy.log2(~numbers & (numbers + 1)).astype(numpy.int64)
        flips = self.sobolstate.numpy().T[places]
        points = numpy.bitwise_xor.accumulate(flips, 0) ^ self.quasi.numpy() if steps > 0 else flips
        result = clew.from_numpy(points).to(kind) * 2.0**-self.MAXBIT
        if self.num_generated == 0 and n > 0:
            result = clew.cat([self._first_point.to(kind), result])
        self._advance(n)
        return result if out is None else out.copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next `2**m` points; all points together have to be a power of two, which keeps them balanced.

        Raises:
            ValueError: they would not be one.
        """
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}"
                f"={total}. If you still want to do this, the function 'draw()' can be used."
            )
        return self.draw(2**m, out, dtype)

    def reset(self) -> SobolEngine:
        """Begin again with the first point."""
        self.num_generated = 0
        self.quasi = self.shift.clone()
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out the next `n` points."""
        self._advance(n)
        return self

    def _advance(self, n: int) -> None:
        self.num_generated += n
        self.quasi = clew.from_numpy(self._after(max(self.num_generated - 1, 0)))

    def __repr__(self) -> str:
        facts = [f"dimension={self.dimension}"]
        facts += ["scramble=True"] * self.scramble + ([f"seed={self.seed}"] if self.seed is not None else [])
        return f"SobolEngine({', '.join(facts)})"
