"""Products of sparse states and matrices: sums of few rows, kept in vector registers.

Compiled loops over arrays keep such a sum in memory, which takes twice as long. These loops are LLVM code, which LLVM fits to the registers of any machine.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

NARROW, WIDE = 32, 64
"""Columns of a matrix that are summed at once: by `add_rows_narrow`, and by `add_rows_wide`."""
_LANES = 16  # of a vector

_FLOAT, _INT, _BIT = ir.FloatType(), ir.IntType(64), ir.IntType(1)
_VECTOR = ir.VectorType(_FLOAT, _LANES)


def _adder(width: int) -> Any:
    """An intrinsic for blocks of a matrix `[width, width]`."""
    parts = width // _LANES

    @intrinsic
    def add_rows(context, target, start, state, matrix, stride):  # type: ignore[no-untyped-def]  # noqa: ARG001
        """`target = start + state @ matrix`. Arguments are addresses of float32 numbers, and the bytes from one row of the matrix to the next."""
        return types.void(*[types.intp] * 5), build

    def build(_context, builder, _signature, arguments):  # type: ignore[no-untyped-def]
        target, start, state, matrix, stride = arguments
        sums = [builder.load(_vector(builder, start, part), align=4) for part in range(parts)]
        mask = ir.Constant(_INT, 0)  # a bit for each number of the state that is not zero
        for part in range(parts):
            numbers = builder.load(_vector(builder, state, part), align=4)
            bits = builder.bitcast(
                builder.fcmp_unordered("!=", numbers, ir.Constant(_VECTOR, [0.0] * _LANES)), ir.IntType(_LANES)
            )
            mask = builder.or_(mask, builder.shl(builder.zext(bits, _INT), ir.Constant(_INT, part * _LANES)))
        before = builder.block
        test, body, after = (builder.append_basic_block(name) for name in ("rows.test", "rows.body", "rows.after"))
        builder.branch(test)
        builder.position_at_end(test)
        left, *totals = (builder.phi(kind) for kind in (_INT, *[_VECTOR] * parts))
        builder.cbranch(builder.icmp_unsigned("!=", left, ir.Constant(_INT, 0)), body, after)
        builder.position_at_end(body)
        place = builder.cttz(left, ir.Constant(_BIT, 1))
        fewer = builder.and_(left, builder.sub(left, ir.Constant(_INT, 1)))
        factor = _spread(
            builder, builder.load(_pointer(builder, state, builder.shl(place, ir.Constant(_INT, 2)), _FLOAT))
        )
        row = builder.add(matrix, builder.mul(place, stride))
        products = [
            builder.fmul(factor, builder.load(_vector(builder, row, part), align=4), flags=("fast",))
            for part in range(parts)
        ]
        added = [builder.fadd(total, product, flags=("fast",)) for total, product in zip(totals, products, strict=True)]
        for phi, first, next_one in zip((left, *totals), (mask, *sums), (fewer, *added), strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(next_one, body)
        builder.branch(test)
        builder.position_at_end(after)
        for part, total in enumerate(totals):
            builder.store(total, _vector(builder, target, part), align=4)

    return add_rows


def _pointer(builder: Any, address: Any, offset: Any, kind: Any) -> Any:
    return builder.inttoptr(builder.add(address, offset), kind.as_pointer())


def _vector(builder: Any, address: Any, part: int) -> Any:
    """A pointer to a vector of the numbers at an address."""
    return _pointer(builder, address, ir.Constant(_INT, 4 * _LANES * part), _VECTOR)


def _spread(builder: Any, number: Any) -> Any:
    """A vector of the same number in every lane."""
    unknown, first = ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
    return builder.shuffle_vector(builder.insert_element(unknown, number, first), unknown, lanes)


add_rows_narrow, add_rows_wide = _adder(NARROW), _adder(WIDE)
