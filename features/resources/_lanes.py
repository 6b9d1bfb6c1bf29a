"""Lanes: 512 bits as one value in compiled code, for kernels that take 512 cases through the same steps.

LLVM makes of them what the processor has: one register of AVX-512, two of AVX2, four of SSE2 or NEON. In a
`numba.njit` function, `load` and `store` move lanes from and to a flat array of uint64, eight words each, and
`&`, `|`, `^`, `~` work on them.
"""

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

WORDS = 8
LANES = 64 * WORDS

_WORD, _INDEX = ir.IntType(64), ir.IntType(32)
_VECTOR = ir.VectorType(_WORD, WORDS)


class _Lanes(types.Type):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(name="Lanes")


_lanes = _Lanes()


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


@intrinsic
def load(typing: Any, array: Any, place: Any) -> Any:
    """The words 8 place .. 8 place + 7 of a flat array of uint64; no bounds are checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = builder.load(_pointer(context, builder, signature.args[0], *arguments))
        loaded.align = 8
        return loaded

    return _lanes(array, types.int64), generate


@intrinsic
def store(typing: Any, array: Any, place: Any, value: Any) -> Any:
    """Writes lanes where `load` would read them."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _pointer(context, builder, signature.args[0], *arguments[:2]), align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, _lanes), generate


@intrinsic
def every(typing: Any, word: Any) -> Any:
    """Lanes whose eight words are all `word`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        nothing = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(nothing, arguments[0], ir.Constant(_INDEX, 0))
        return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_INDEX, WORDS), [0] * WORDS))

    return _lanes(types.uint64), generate


def _pointer(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    word = builder.gep(data, [builder.mul(place, ir.Constant(_WORD, WORDS))])
    return builder.bitcast(word, _VECTOR.as_pointer())


def _define(operation: Any, instruction: str, operands: int) -> None:
    @type_callable(operation)
    def typing(context: Any) -> Any:
        def typed(*kinds: Any) -> Any:
            return _lanes if kinds == (_lanes,) * operands else None

        return typed

    @lower_builtin(operation, *[_Lanes] * operands)
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return getattr(builder, instruction)(*arguments)


_define(operator.and_, "and_", 2)
_define(operator.or_, "or_", 2)
_define(operator.xor, "xor", 2)
_define(operator.invert, "not_", 1)
