"""Weighted sums of rows of float32 numbers, kept in vector registers: products of states and matrices, and sums over neighbours.

Compiled loops over arrays keep such a sum in memory, which takes twice as long. These loops are LLVM code, which LLVM fits to the registers of any
machine. They take addresses, and numbers of bytes. An array must be held by the caller of the function that takes its address: numba frees
local ones as soon as their address is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

WIDTH = 32
"""Rows have a multiple of so many numbers."""
_WIDE = 2 * WIDTH  # numbers that are summed at once, if rows have a multiple of them
_LANES = 16  # of a vector

_FLOAT, _INT, _BIT = ir.FloatType(), ir.IntType(64), ir.IntType(1)
_VECTOR = ir.VectorType(_FLOAT, _LANES)
_ZEROS = ir.Constant(_VECTOR, [0.0] * _LANES)
_FUSED = ("contract",)  # a product and a sum may be one instruction; what is not a number stays so


def _product(width: int) -> Any:
    """An intrinsic: `target = start + state @ matrix` for `width` numbers of each; `stride` leads from one row of the matrix to the next."""

    @intrinsic
    def add_product(context, target, start, state, matrix, stride):  # type: ignore[no-untyped-def]  # noqa: ARG001
        return types.void(*[types.intp] * 5), build

    def build(_context, builder, _signature, arguments):  # type: ignore[no-untyped-def]
        target, start, state, matrix, stride = arguments
        left = ir.Constant(_INT, 0)  # a bit for each number of the state that is not zero
        for part, numbers in enumerate(_loaded(builder, state, width)):
            bits = builder.bitcast(builder.fcmp_unordered("!=", numbers, _ZEROS), ir.IntType(_LANES))
            left = builder.or_(left, builder.shl(builder.zext(bits, _INT), _number(part * _LANES)))
        sums = _Sums(builder, left, _loaded(builder, start, width))
        place = builder.cttz(sums.counter, ir.Constant(_BIT, 1))
        factor = builder.load(_pointer(builder, state, builder.shl(place, _number(2)), _FLOAT))
        sums.add(factor, builder.add(matrix, builder.mul(place, stride)))
        sums.go_on(builder.and_(sums.counter, builder.sub(sums.counter, _number(1))))
        sums.store(target)

    return add_product


def _sum(width: int) -> Any:
    """An intrinsic: the positive part of `start + sum(factors[i] * row at places[i])` for `width` numbers that start `offset` bytes after each address."""

    @intrinsic
    def add_rows(context, target, start, factors, places, count, offset):  # type: ignore[no-untyped-def]  # noqa: ARG001
        return types.void(*[types.intp] * 6), build

    def build(_context, builder, _signature, arguments):  # type: ignore[no-untyped-def]
        target, start, factors, places, count, offset = arguments
        sums = _Sums(builder, count, _loaded(builder, builder.add(start, offset), width))
        place = builder.sub(sums.counter, _number(1))
        factor = builder.load(_pointer(builder, factors, builder.shl(place, _number(2)), _FLOAT))
        row = builder.load(_pointer(builder, places, builder.shl(place, _number(3)), _INT))
        sums.add(factor, builder.add(row, offset))
        sums.go_on(place)
        sums.totals = [builder.select(builder.fcmp_ordered("<", total, _ZEROS), _ZEROS, total) for total in sums.totals]
        sums.store(builder.add(target, offset))

    return add_rows


class _Sums:
    """A loop, while its counter is not zero, over rows that are added to vectors."""

    def __init__(self, builder: Any, counter: Any, start: Sequence[Any]) -> None:
        self.builder, before = builder, builder.block
        self.test, self.body, self.after = (
            builder.append_basic_block(f"rows.{name}") for name in ("test", "body", "after")
        )
        builder.branch(self.test)
        builder.position_at_end(self.test)
        self.counter, *self.totals = self.phis = [builder.phi(first.type) for first in (counter, *start)]
        for phi, first in zip(self.phis, (counter, *start), strict=True):
            phi.add_incoming(first, before)
        builder.cbranch(builder.icmp_unsigned("!=", self.counter, _number(0)), self.body, self.after)
        builder.position_at_end(self.body)
        self.added: list[Any] = []

    def add(self, factor: Any, row: Any) -> None:
        """Add a multiple of the row at an address."""
        unknown = ir.Constant(_VECTOR, ir.Undefined)
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
        first = self.builder.insert_element(unknown, factor, ir.Constant(ir.IntType(32), 0))
        factors = self.builder.shuffle_vector(first, unknown, lanes)
        rows = _loaded(self.builder, row, _LANES * len(self.totals))
        products = [self.builder.fmul(factors, each, flags=_FUSED) for each in rows]
        self.added = [self.builder.fadd(*pair, flags=_FUSED) for pair in zip(self.totals, products, strict=True)]

    def go_on(self, counter: Any) -> None:
        """End the body of the loop; what comes next is after the loop."""
        for phi, following in zip(self.phis, (counter, *self.added), strict=True):
            phi.add_incoming(following, self.body)
        self.builder.branch(self.test)
        self.builder.position_at_end(self.after)

    def store(self, address: Any) -> None:
        """Write the sums."""
        for part, total in enumerate(self.totals):
            self.builder.store(total, _vector(self.builder, address, part), align=4)


def _loaded(builder: Any, address: Any, width: int) -> list[Any]:
    """The numbers at an address, as vectors."""
    return [builder.load(_vector(builder, address, part), align=4) for part in range(width // _LANES)]


def _vector(builder: Any, address: Any, part: int) -> Any:
    return _pointer(builder, address, _number(4 * _LANES * part), _VECTOR)


def _pointer(builder: Any, address: Any, offset: Any, kind: Any) -> Any:
    return builder.inttoptr(builder.add(address, offset), kind.as_pointer())


def _number(value: int) -> Any:
    return ir.Constant(_INT, value)


_add_product, _add_wide_product = _product(WIDTH), _product(_WIDE)
_add_rows, _add_wide_rows = _sum(WIDTH), _sum(_WIDE)


@numba.njit(inline="always")
def add_product(target, start, state, matrix, width):  # type: ignore[no-untyped-def]
    """`target = start + state @ matrix`, of addresses, with a matrix `[width, width]`; numbers of the state that are zero cost nothing."""
    if width % _WIDE == 0:
        for o in range(0, 4 * width, 4 * _WIDE):
            for k in range(0, width, _WIDE):
                _add_wide_product(
                    target + o, (target if k else start) + o, state + 4 * k, matrix + 4 * k * width + o, 4 * width
                )
    else:
        for o in range(0, 4 * width, 4 * WIDTH):
            for k in range(0, width, WIDTH):
                _add_product(
                    target + o, (target if k else start) + o, state + 4 * k, matrix + 4 * k * width + o, 4 * width
                )


@numba.njit(inline="always")
def add_rows(target, start, factors, places, count, width):  # type: ignore[no-untyped-def]
    """Positive parts of `start` and the sum of rows `[width]` times their factors; `factors` and `places` have `count` of them."""
    if width % _WIDE == 0:
        for o in range(0, 4 * width, 4 * _WIDE):
            _add_wide_rows(target, start, factors, places, count, o)
    else:
        for o in range(0, 4 * width, 4 * WIDTH):
            _add_rows(target, start, factors, places, count, o)
