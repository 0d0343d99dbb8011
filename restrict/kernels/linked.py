"""How a kernel is compiled into its callers: once typed and lowered, and left to the caller's optimisation.

numba compiles a function that others call as if it were called on its own, too: it wraps it for Python, optimises it
and makes machine code of it, and then optimises it once more in each caller. Of a kernel that only kernels call all
this is thrown away, and it is more than half of what compilation takes.
"""

from __future__ import annotations

from typing import Any

from numba.core import codegen, compiler, typing

JITCodeLibrary: Any = codegen.JITCodeLibrary


class Flags(compiler.Flags):  # type: ignore[misc]
    """numba's options of a compilation. numba compares them at each operation whose type it infers, one by one."""

    __slots__ = ()

    def __hash__(self) -> int:
        return SAME

    def __eq__(self, other: object) -> bool:
        return isinstance(other, compiler.Flags) and self._values == other._values


SAME = hash(compiler.Flags())
"""numba's own hash of all options."""


class Unoptimised(JITCodeLibrary):  # type: ignore[misc]
    """Code that is only ever linked into other code, which is then optimised as a whole."""

    def _optimize_final_module(self) -> None:
        """Left to the caller's library."""

    def _finalize_final_module(self) -> None:
        """Ready to be linked; the engine is not told of it."""
        self._finalize_dynamic_globals()
        self._finalized = True


class Linked:
    """A kernel for its callers: one form for the types of each call."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.forms: dict[tuple[Any, ...], Any] = {}

    def template(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        """What numba asks a function for that is called with arguments of these types."""
        pysig, folded = self.kernel._compiler.fold_argument_types(args, kws)
        form = self.forms.get(tuple(folded)) or self.compile(tuple(folded))
        made = typing.make_concrete_template(
            self.kernel.__name__, key=self.kernel.__name__, signatures=[form.signature]
        )
        return made, pysig, folded, {}

    def compile(self, args: tuple[Any, ...]) -> Any:
        """The form for arguments of these types."""
        kernel = self.kernel
        maker, flags = kernel._compiler, Flags()
        maker.targetdescr.options.parse_as_flags(flags, maker.targetoptions)
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        target = kernel.targetctx
        library = Unoptimised(target.codegen(), kernel.py_func.__qualname__)
        form = compiler.compile_extra(
            kernel.typingctx, target, kernel.py_func, args, None, flags, maker.locals, library, maker.pipeline_class
        )
        library._ensure_finalized()
        self.forms[args] = form
        target.insert_user_function(form.library, form.fndesc, [form.library])
        return form

    def key(self, args: tuple[Any, ...]) -> Any:
        """What the form for these types is known by."""
        return self.forms[args].library
