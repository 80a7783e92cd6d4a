"""The linear assignment problem for small dense matrices, with its dual prices."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt


class Workspace(NamedTuple):
    """Scratch for assignments of up to `size` columns; holds the answer of the last one.

    Args:
        prices: Prices of the rows, prices of the columns, and path lengths, `[3, size]`.
        places: Column of each row, row of each column (-1: free), parents on paths, settled marks, `[4, size]`.
    """

    prices: npt.NDArray[np.float64]
    places: npt.NDArray[np.int64]


# Rows of the two arrays: few arrays are passed about because compiled code counts references to each.
ROW_PRICE, COLUMN_PRICE, _DISTANCE = 0, 1, 2
COLUMN_OF, _ROW_OF, _PARENT, _SETTLED = 0, 1, 2, 3


@numba.njit(cache=True, nogil=True)
def make_workspace(size):  # type: ignore[no-untyped-def]
    """Scratch for assignments of up to `size` columns."""
    return Workspace(np.zeros((3, size)), np.zeros((4, size), dtype=np.int64))


@numba.njit(cache=True, nogil=True)
def assign(cost, rows, columns, prices, places):  # type: ignore[no-untyped-def]
    """Give every row its own column at least total cost, by shortest augmenting paths.

    Afterwards `places[COLUMN_OF, i]` is the column of row `i`, and `prices[ROW_PRICE, i] + prices[COLUMN_PRICE, j]` is
    at most `cost[i, j]`, column prices are at most 0, and all prices add up to the cost returned.

    Args:
        cost: Its first `rows × columns` cells are the problem; no more rows than columns.
        rows: Number of rows.
        columns: Number of columns.
        prices: Of a `Workspace` with at least as many columns.
        places: Of the same workspace.
    """
    for j in range(columns):
        prices[COLUMN_PRICE, j] = 0.0
        places[_ROW_OF, j] = -1
    unassigned = 0
    for i in range(rows):
        cheapest, column = np.inf, -1
        for j in range(columns):
            if cost[i, j] < cheapest:
                cheapest, column = cost[i, j], j
            elif cost[i, j] == cheapest and places[_ROW_OF, column] != -1 and places[_ROW_OF, j] == -1:
                column = j
        prices[ROW_PRICE, i] = cheapest
        if places[_ROW_OF, column] == -1:
            places[_ROW_OF, column], places[COLUMN_OF, i] = i, column
        else:
            places[COLUMN_OF, i] = -1
            unassigned += 1
    if unassigned:
        for i in range(rows):
            if places[COLUMN_OF, i] == -1:
                _augment(cost, columns, i, prices, places)
    total = 0.0
    for i in range(rows):
        total += prices[ROW_PRICE, i]
    for j in range(columns):
        total += prices[COLUMN_PRICE, j]
    return total


@numba.njit(cache=True, nogil=True)
def _augment(cost, columns, start, prices, places):  # type: ignore[no-untyped-def]
    """Find row `start` a column along a shortest path of reassignments (Dijkstra on reduced costs)."""
    for j in range(columns):
        prices[_DISTANCE, j] = cost[start, j] - prices[ROW_PRICE, start] - prices[COLUMN_PRICE, j]
        places[_PARENT, j] = start
        places[_SETTLED, j] = 0
    while True:
        nearest, column = np.inf, -1
        for j in range(columns):
            if not places[_SETTLED, j]:
                length = prices[_DISTANCE, j]
                if length < nearest or (length == nearest and places[_ROW_OF, j] == -1):
                    nearest, column = length, j
        row = places[_ROW_OF, column]
        if row == -1:
            break
        places[_SETTLED, column] = 1
        base = nearest - prices[ROW_PRICE, row]
        for j in range(columns):
            if not places[_SETTLED, j]:
                through = base + cost[row, j] - prices[COLUMN_PRICE, j]
                if through < prices[_DISTANCE, j]:
                    prices[_DISTANCE, j] = through
                    places[_PARENT, j] = row
    prices[ROW_PRICE, start] += nearest
    for j in range(columns):
        if places[_SETTLED, j]:
            prices[COLUMN_PRICE, j] -= nearest - prices[_DISTANCE, j]
            prices[ROW_PRICE, places[_ROW_OF, j]] += nearest - prices[_DISTANCE, j]
    while True:
        row = places[_PARENT, column]
        places[_ROW_OF, column] = row
        column, places[COLUMN_OF, row] = places[COLUMN_OF, row], column
        if row == start:
            break
