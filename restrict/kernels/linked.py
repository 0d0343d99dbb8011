"""How a kernel is compiled into its callers: its types are inferred, it is lowered, and the rest is left to the caller.

numba compiles a function that another one calls as if it were called from Python, too: it is wrapped, optimised, and
made into machine code, and then optimised once more within each caller. Of a kernel that only kernels call, all this is
thrown away: about half of what compilation takes. The caller's machine code is the same in speed.
"""

from __future__ import annotations

from typing import Any

from numba.core import codegen, compiler, sigutils
from numba.core.typing import templates

JITCodeLibrary: Any = codegen.JITCodeLibrary
NumbaFlags: Any = compiler.Flags
compile_extra: Any = compiler.compile_extra
make_concrete_template: Any = templates.make_concrete_template
normalize: Any = sigutils.normalize_signature


class Flags(NumbaFlags):  # type: ignore[misc]
    """numba's options of one compilation. It looks its functions up by them, at every operation whose types it infers,
    and compares them one by one by their names, which takes a quarter of the compilation."""

    __slots__ = ()

    def __hash__(self) -> int:
        return SAME

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NumbaFlags) and bool(self._values == other._values)


SAME = hash(NumbaFlags())
"""numba's own hash, of the options' names alone."""


def customised(flags: Any) -> Flags:
    """A kernel's options: no C program calls it."""
    found = Flags(flags)
    found.no_cfunc_wrapper = True
    return found


class Unoptimised(JITCodeLibrary):  # type: ignore[misc]
    """Code that is only linked into other code, which is then optimised as a whole."""

    def _optimize_final_module(self) -> None:
        """Left to the caller's library."""

    def _finalize_final_module(self) -> None:
        """Ready to be linked; no machine code is made of it."""
        self._finalize_dynamic_globals()
        self._finalized = True


class Linked:
    """A kernel as its callers have it: ``forms``, one for the types of each call."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.forms: dict[tuple[Any, ...], Any] = {}

    def template(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        """What numba asks a function for that is called with arguments of these types."""
        pysig, folded = self.kernel._compiler.fold_argument_types(args, kws)
        form = self.forms.get(tuple(folded)) or self._compile(tuple(folded))
        name = self.kernel.__name__
        return make_concrete_template(name, key=name, signatures=[form.signature]), pysig, folded, {}

    def key(self, signature: Any) -> Any:
        """By what a caller's code finds the form for these types."""
        args, _ = normalize(signature)
        return self.forms[tuple(args)].library

    def _compile(self, args: tuple[Any, ...]) -> Any:
        kernel, maker, target = self.kernel, self.kernel._compiler, self.kernel.targetctx
        flags = Flags()
        maker.targetdescr.options.parse_as_flags(flags, maker.targetoptions)
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        library = Unoptimised(target.codegen(), kernel.py_func.__qualname__)
        form = compile_extra(
            kernel.typingctx, target, kernel.py_func, args, None, flags, maker.locals, library, maker.pipeline_class
        )
        target.insert_user_function(library, form.fndesc, [library])
        self.forms[args] = form
        return form
