"""Sums of weighted rows in vector registers: the inner loop of every product and every gather of the fast path.

A row of the result stays in registers while scaled rows of a table are added to it, one after the other: the members of
a node's neighbourhood, or the rows of a weight matrix under the positive entries of a state. States behind a ReLU are
mostly zeros (three quarters of them in a trained GREED), so skipping zeros does a product in a quarter of the
arithmetic; with no zeros at all it is little slower than a dense product. Each row is summed on its own in a fixed order,
so a result does not depend on what else is computed beside it, nor on the number of threads.

All tables are C-contiguous float32 `[rows, width]`, of widths that `padded_width` gives.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

FloatArray = npt.NDArray[np.float32]

_LANES = 8
_PANEL = 64  # columns whose sums fit the vector registers of common processors at once
_NARROW = (8, 16, 24, 32)
_WORD = ir.IntType(64)
_VECTOR = ir.VectorType(ir.FloatType(), _LANES)
_ZEROS = ir.Constant(_VECTOR, [0.0] * _LANES)


def padded_width(width: int) -> int:
    """The least width that the kernels take: 8, 16, 24, 32 or a multiple of 64."""
    for narrow in _NARROW:
        if width <= narrow:
            return narrow
    return -(-width // _PANEL) * _PANEL


def padded(matrix: npt.NDArray[Any], *, both: bool = True) -> FloatArray:
    """A matrix `[depth, width]` with zeros added to the right up to a padded width, and with `both` also below."""
    depth, width = matrix.shape
    rows, columns = padded_width(depth) if both else depth, padded_width(width)
    flat = np.zeros(rows * columns + 16, dtype=np.float32)
    offset = (-flat.ctypes.data % 64) // 4  # the table starts on a cache line
    table = flat[offset : offset + rows * columns].reshape(rows, columns)
    table[:depth, :width] = matrix
    return table


def padded_row(vector: npt.NDArray[Any]) -> FloatArray:
    """A vector with zeros added up to a padded width."""
    row = np.zeros(padded_width(len(vector)), dtype=np.float32)
    row[: len(vector)] = vector
    return row


@intrinsic
def row_sum(context, members, first, count, weights, table, start, out, row):  # type: ignore[no-untyped-def]  # noqa: ARG001
    """`out[row] = start + Σ_i weights[i] · table[members[first + i]]` over `i < count`, inside compiled functions."""
    signature = types.void(members, types.intp, types.intp, weights, table, start, out, types.intp)
    return signature, _generate_row_sum


@intrinsic
def positive_row_sum(context, members, first, count, weights, table, start, out, row):  # type: ignore[no-untyped-def]  # noqa: ARG001
    """`out[row] = start + Σ_i weights[i] · relu(table[members[first + i]])`, inside compiled functions."""
    signature = types.void(members, types.intp, types.intp, weights, table, start, out, types.intp)
    return signature, partial(_generate_row_sum, positive=True)


@intrinsic
def row_max(context, members, first, count, weights, table, start, out, row):  # type: ignore[no-untyped-def]  # noqa: ARG001
    """`out[row] = max(start, max_i table[members[first + i]])`, inside compiled functions; weights do not matter."""
    signature = types.void(members, types.intp, types.intp, weights, table, start, out, types.intp)
    return signature, partial(_generate_row_sum, largest=True)


@intrinsic
def positive_product(context, x, x_row, table, start, other, other_row, out, row):  # type: ignore[no-untyped-def]  # noqa: ARG001
    """`out[row] = start + other[other_row] + relu(x[x_row]) @ table`, inside compiled functions."""
    signature = types.void(x, types.intp, table, start, other, types.intp, out, types.intp)
    return signature, _generate_product


def _generate_row_sum(context, builder, signature, args, *, positive=False, largest=False):  # type: ignore[no-untyped-def]
    emit = _Emitter(context, builder, signature, args)
    first, count, row = args[1], args[2], args[7]

    def more(place: ir.Value) -> ir.Value:
        return builder.icmp_signed("<", place, count)

    def member(place: ir.Value) -> tuple[ir.Value, ir.Value]:
        index = builder.load(emit.address(0, builder.add(first, place)))
        return builder.sext(index, _WORD), builder.load(emit.address(3, place))

    def following(place: ir.Value) -> ir.Value:
        return builder.add(place, _word(1))

    def begin(column: ir.Value) -> ir.Value:
        return emit.load_vector(emit.address(5, column))

    emit.sums(4, 6, row, _Loop(_word(0), more, member, following, begin, positive, largest))
    return context.get_dummy_value()


def _generate_product(context, builder, signature, args):  # type: ignore[no-untyped-def]
    emit = _Emitter(context, builder, signature, args)
    x_row, other_row, row = args[1], args[5], args[7]

    def more(mask: ir.Value) -> ir.Value:
        return builder.icmp_unsigned("!=", mask, _word(0))

    def following(mask: ir.Value) -> ir.Value:
        return builder.and_(mask, builder.sub(mask, _word(1)))

    with cgutils.for_range_slice(builder, _word(0), emit.width(0), _word(_PANEL)) as (depth, _):
        is_first = builder.icmp_signed("==", depth, _word(0))

        def member(mask: ir.Value) -> tuple[ir.Value, ir.Value]:
            place = builder.add(depth, builder.cttz(mask, ir.Constant(ir.IntType(1), 1)))
            return place, builder.load(emit.address(0, place, x_row))

        def begin(column: ir.Value) -> ir.Value:
            """What is there: for the first part of the depth what is given, then what the parts before left."""
            so_far = emit.address(6, column, row)
            start = emit.load_vector(builder.select(is_first, emit.address(3, column), so_far))
            other = emit.load_vector(emit.address(4, column, other_row))
            return builder.select(is_first, builder.fadd(start, other), start)

        mask = emit.positives(0, x_row, depth)
        emit.sums(2, 6, row, _Loop(mask, more, member, following, begin))
    return context.get_dummy_value()


class _Loop(NamedTuple):
    """What rows are summed: a state, whether there are more, the row and weight it stands for, and the next state.

    `begin` gives what the sum of some columns starts from; `positive` says to take only what is positive of each row,
    `largest` to take the largest entries instead of summing.
    """

    start: ir.Value
    more: Callable[[ir.Value], ir.Value]
    member: Callable[[ir.Value], tuple[ir.Value, ir.Value]]
    following: Callable[[ir.Value], ir.Value]
    begin: Callable[[ir.Value], ir.Value]
    positive: bool = False
    largest: bool = False


class _Emitter:
    """Writes vector instructions over the arrays among an intrinsic's arguments, which it knows by their place."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.builder = builder
        self.arrays = {
            place: context.make_array(kind)(context, builder, value)
            for place, (kind, value) in enumerate(zip(signature.args, args, strict=True))
            if isinstance(kind, types.Array)
        }

    def width(self, array: int) -> ir.Value:
        return self.builder.extract_value(self.arrays[array].shape, 1)

    def address(self, array: int, column: ir.Value, row: ir.Value | None = None) -> ir.Value:
        if row is not None:
            column = self.builder.add(self.builder.mul(row, self.width(array)), column)
        return self.builder.gep(self.arrays[array].data, [column])

    def load_vector(self, address: ir.Value) -> ir.Value:
        loaded = self.builder.load(self.builder.bitcast(address, _VECTOR.as_pointer()))
        loaded.align = 4
        return loaded

    def positives(self, array: int, row: ir.Value, first: ir.Value) -> ir.Value:
        """Bit `i` says whether entry `first + i` of the row is positive, for the up to 64 entries there are."""
        builder = self.builder
        rest = builder.sub(self.width(array), first)
        mask = cgutils.alloca_once_value(builder, _word(0))
        with builder.if_else(builder.icmp_signed(">=", rest, _word(_PANEL))) as (whole, short):
            with whole:
                bits = [self._positive_bits(array, row, first, _word(at)) for at in range(0, _PANEL, _LANES)]
                builder.store(reduce(builder.or_, bits), mask)
            with short, cgutils.for_range_slice(builder, _word(0), rest, _word(_LANES)) as (at, _):
                builder.store(builder.or_(builder.load(mask), self._positive_bits(array, row, first, at)), mask)
        return builder.load(mask)

    def _positive_bits(self, array: int, row: ir.Value, first: ir.Value, at: ir.Value) -> ir.Value:
        builder = self.builder
        values = self.load_vector(self.address(array, builder.add(first, at), row))
        positive = builder.fcmp_ordered(">", values, _ZEROS)
        return builder.shl(builder.zext(builder.bitcast(positive, ir.IntType(_LANES)), _WORD), at)

    def sums(self, table: int, out: int, row: ir.Value, loop: _Loop) -> None:
        """Add the rows of `table` that the loop names to a row of `out`, by panels of columns."""
        builder = self.builder
        end = builder.append_basic_block("end")
        wide = builder.append_basic_block("wide")
        choice = builder.switch(self.width(table), wide)
        for width in _NARROW:
            block = builder.append_basic_block(f"width{width}")
            choice.add_case(_word(width), block)
            builder.position_at_end(block)
            self._panel(width // _LANES, table, out, row, _word(0), loop)
            builder.branch(end)
        builder.position_at_end(wide)
        with cgutils.for_range_slice(builder, _word(0), self.width(table), _word(_PANEL)) as (column, _):
            self._panel(_PANEL // _LANES, table, out, row, column, loop)
        builder.branch(end)
        builder.position_at_end(end)

    def _panel(self, vectors: int, table: int, out: int, row: ir.Value, column: ir.Value, loop: _Loop) -> None:
        """The sums in `vectors` registers, for as many columns as they hold from `column` on."""
        builder = self.builder
        columns = [builder.add(column, _word(part * _LANES)) for part in range(vectors)]
        targets = [self.address(out, place, row) for place in columns]
        begun = [loop.begin(place) for place in columns]
        entry = builder.block
        test, body, done = (builder.append_basic_block(name) for name in ("test", "body", "done"))
        builder.branch(test)
        builder.position_at_end(test)
        state = builder.phi(_WORD)
        sums = [builder.phi(_VECTOR) for _ in range(vectors)]
        builder.cbranch(loop.more(state), body, done)
        builder.position_at_end(body)
        source, weight = loop.member(state)
        spread = self._spread(weight)
        rows = [self.load_vector(self.address(table, place, source)) for place in columns]
        if loop.positive:
            rows = [builder.select(builder.fcmp_ordered(">", part, _ZEROS), part, _ZEROS) for part in rows]
        pairs = list(zip(sums, rows, strict=True))
        if loop.largest:
            added = [builder.select(builder.fcmp_ordered(">", part, total), part, total) for total, part in pairs]
        else:  # "contract" makes one fused multiply-add of the two where the processor has it
            added = [
                builder.fadd(total, builder.fmul(spread, part, flags=("contract",)), flags=("contract",))
                for total, part in pairs
            ]
        steps = [(state, loop.start, loop.following(state)), *zip(sums, begun, added, strict=True)]
        for phi, before, after in steps:
            phi.add_incoming(before, entry)
            phi.add_incoming(after, builder.block)
        builder.branch(test)
        builder.position_at_end(done)
        for target, total in zip(targets, sums, strict=True):
            builder.store(total, builder.bitcast(target, _VECTOR.as_pointer())).align = 4

    def _spread(self, value: ir.Value) -> ir.Value:
        """A vector with the value in every lane."""
        none = ir.Constant(_VECTOR, ir.Undefined)
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
        single = self.builder.insert_element(none, value, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(single, none, lanes)


def _word(value: int) -> ir.Constant:
    return ir.Constant(_WORD, value)
