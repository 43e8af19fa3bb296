"""From Numba's form of a function to LLVM's, for functions of the package.

Numba keeps what lives in several blocks in memory, arrays as structures of seven fields, and copies
the structure into memory once more wherever an entry is read. LLVM takes all of it apart again.
Here a name that is assigned once is a value, and an entry is found from the value's fields. The
arithmetic is the same, in the same order.

Imported with Numba, when the first kernel is called.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils, ir
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs
from numba.core.lowering import Lower
from numba.np.arrayobj import load_item, store_item

__all__ = ["LowerValues"]


class LowerValues(Lower):
    """Lowering of functions of the package.

    Where arrays are made, references to them are counted, and their names are left to Numba.
    """

    def counts(self, name: str) -> bool:
        """Whether references to what a name stands for are counted."""
        if not self.context.enable_nrt:
            return False
        return bool(self.context.data_model_manager[self.typeof(name)].contains_nrt_meminfo())

    def _find_singly_assigned_variable(self) -> None:
        """Names that are values: assigned in one place, which every use comes after."""
        self._blk_local_varmap: dict[str, Any] = {}
        if self.context.enable_nrt:
            super()._find_singly_assigned_variable()
        blocks = self.func_ir.blocks
        uses = compute_use_defs(blocks)
        assigned: dict[str, list[Any]] = {}
        for label, block in blocks.items():
            for statement in block.body:
                if isinstance(statement, ir.Assign):
                    assigned.setdefault(statement.target.name, []).append(label)
        used_in: dict[str, list[Any]] = {}  # a block that assigns first is not among them
        for label, names in uses.usemap.items():
            for name in names:
                used_in.setdefault(name, []).append(label)
        above = compute_cfg_from_blocks(blocks).dominators()

        def is_value(name: str, homes: list[Any]) -> bool:
            if self.counts(name):
                return name in self._singly_assigned_vars
            home = homes[0]
            return len(homes) == 1 and all(
                home < label and home in above[label] for label in used_in.get(name, ())
            )

        self._singly_assigned_vars = {one for one, at in assigned.items() if is_value(one, at)}

    def lower_inst(self, inst: Any) -> None:
        """The same without marks for debuggers, and without ends of names that nobody counts."""
        if isinstance(inst, ir.Assign) and not isinstance(inst.value, ir.Arg):
            name = inst.target.name
            self.storevar(self.lower_assign(self.typeof(name), inst), name)
        elif not isinstance(inst, ir.Del) or self.counts(inst.value):
            super().lower_inst(inst)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """An entry of an array at whole numbers; all else is Numba's."""
        array = self.typeof(value.name)
        place = self.typeof(index.name)
        if not is_entry(array, place) or array.dtype != signature.return_type:
            return super().lower_getitem(resty, expr, value, index, signature)
        at = self.pointer_to(array, value.name, place, index.name)
        entry = load_item(self.context, self.builder, array, at)
        return self.context.cast(self.builder, entry, array.dtype, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """The same, to be written."""
        array, place = self.typeof(target_var.name), self.typeof(index_var.name)
        kind = self.typeof(value_var.name)
        if not is_entry(array, place) or not isinstance(kind, SCALARS):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        new = self.context.cast(self.builder, self.loadvar(value_var.name), kind, array.dtype)
        at = self.pointer_to(array, target_var.name, place, index_var.name)
        return store_item(self.context, self.builder, array, new, at)

    def pointer_to(self, array: Any, name: str, place: Any, index: str) -> Any:
        """Where an entry is; negative places count from the end."""
        builder, value = self.builder, self.loadvar(name)
        position = self.context.data_model_manager[array].get_field_position
        kinds = kinds_of(place)
        found = self.loadvar(index)
        places = (
            cgutils.unpack_tuple(builder, found, len(kinds))
            if isinstance(place, types.BaseTuple)
            else [found]
        )
        shape = cgutils.unpack_tuple(
            builder, builder.extract_value(value, position("shape")), array.ndim
        )
        strides: Any = ()
        if array.layout not in "CF":
            strides = cgutils.unpack_tuple(
                builder, builder.extract_value(value, position("strides")), array.ndim
            )
        whole = [
            self.context.cast(builder, one, kind, types.intp if kind.signed else types.uintp)
            for one, kind in zip(places, kinds, strict=True)
        ]
        inside = [
            wrapped(builder, one, size) if kind.signed else one
            for one, kind, size in zip(whole, kinds, shape, strict=True)
        ]
        data = builder.extract_value(value, position("data"))
        return cgutils.get_item_pointer2(
            self.context, builder, data, shape, strides, array.layout, inside
        )

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """What type inference has found is not looked for again."""
        known: Any = self.context.typing_context.resolve_value_type(op)
        found = self.fndesc.calltypes[expr]
        plain = expr.static_lhs is ir.UNDEFINED and expr.static_rhs is ir.UNDEFINED
        if not (plain and found.args in getattr(known, "_impl_keys", ())):
            return super().lower_binop(resty, expr, op)
        builder, context = self.builder, self.context
        pair = [
            context.cast(builder, self.loadvar(side.name), self.typeof(side.name), kind)
            for side, kind in zip((expr.lhs, expr.rhs), found.args, strict=True)
        ]
        result = context.get_function(known, found)(builder, pair)
        return context.cast(builder, result, found.return_type, resty)


SCALARS = (types.Number, types.Boolean)


def kinds_of(place: Any) -> Any:
    """Types of the numbers that a place in an array is made of."""
    return getattr(place, "types", None) or (place,)


def is_entry(array: Any, place: Any) -> bool:
    """Whether an array at some place is one number."""
    if not (isinstance(array, types.Array) and isinstance(array.dtype, SCALARS)):
        return False
    kinds = kinds_of(place)
    return len(kinds) == array.ndim and all(isinstance(one, types.Integer) for one in kinds)


def wrapped(builder: Any, place: Any, size: Any) -> Any:
    """A place, counted from the end if it is negative."""
    negative = builder.icmp_signed("<", place, place.type(0))
    return builder.select(negative, builder.add(place, size), place)
