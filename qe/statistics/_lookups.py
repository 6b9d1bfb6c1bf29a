"""Sums by look-up: rows that random bits choose are added from tables.

A table gives eight columns at once.

A table holds the sums of all choices among a few rows, so that one addition stands for several. Numba does
not vectorise such short sums; here they are written as LLVM vectors, which every processor has in some width.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

WIDTH = 8  # columns of a table, doubles of a vector


def _adder(lookups: int, bits: int, entries: int) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out, tables, word = arguments
        vector, number = ir.VectorType(ir.DoubleType(), WIDTH), ir.IntType(64)
        total = None
        for t in range(lookups):
            field = builder.and_(builder.lshr(word, number(t * bits)), number(entries - 1))
            offset = builder.mul(builder.add(field, number(t * entries)), number(8 * WIDTH))
            row = builder.load(builder.inttoptr(builder.add(tables, offset), vector.as_pointer()), align=8)
            total = row if total is None else builder.fadd(total, row)
        target = builder.inttoptr(out, vector.as_pointer())
        builder.store(builder.fadd(builder.load(target, align=8), total), target, align=8)
        return context.get_dummy_value()

    return generate


@intrinsic
def add_by_nibbles(typingctx: Any, out: Any, tables: Any, word: Any) -> Any:
    """Adds 16 rows, one of each table of 16, to the 8 doubles at address `out`."""
    return types.void(types.uintp, types.uintp, types.uint64), _adder(16, 4, 16)


@intrinsic
def add_by_bytes(typingctx: Any, out: Any, tables: Any, word: Any) -> Any:
    """Adds 8 rows to the 8 doubles at `out`, one from each table of 64 rows.

    The low six bits of each byte of the word choose the row.
    """
    return types.void(types.uintp, types.uintp, types.uint64), _adder(8, 8, 64)
