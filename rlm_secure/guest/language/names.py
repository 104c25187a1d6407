"""Which names a cell may use, and which of them need a guard.

The same tables apply to source text (transformer.py), to strings passed to getattr and similar builtins
(attributes.py), and to fields of format strings (formatting.py). So no other way to write a name reaches what its plain
form does not.
"""

from __future__ import annotations

import _string  # type: ignore[import-not-found]  # what string.Formatter parses with; typeshed has no stub
from collections.abc import Iterator

from RestrictedPython.transformer import INSPECT_ATTRIBUTES

# The names of the guards. None is an identifier, so no source text can read or bind one: not as a variable, parameter,
# import, pattern or keyword, and not after Unicode normalisation.
STORE = "<store>"
PRIVATE = "<private>"
ATTRIBUTE = "<attribute>"
IMPORT = "<import>"
IMPORT_FROM = "<import from>"
IMPORT_ALL = "<import all>"
AWAITED = "<awaited>"
RUN_ASYNC = "<run async>"
REMOVED = "<removed>"
RENAME = "<rename>"
PATTERN = "<pattern>"
PATTERN_VALUE = "<pattern value>"
OPERATED = "<operated>"
NAMESPACE = "<namespace>"
CLASSES = "<classes>"
TYPE = "<type>"
EXCEPTION = "<exception>"
ANY_EXCEPTION = "<any exception>"
REGISTRAR = "<registrar>"
#: In the `__dict__` of a function: what it wraps. Library code would follow a `__wrapped__`.
WRAPPED = "<wrapped>"
LOAD = "<load>"
OPEN = "<open>"
SETTABLE = "<settable>"
TEMPLATES = "<templates>"
TEXT = "<text>"
TEXT_ATTRIBUTE = "<text attribute>"
STRING = "<string>"
KINDS = "<kinds>"
SEEN = "<seen>"
KIND_OF = "<kind of>"
ASKABLE = "<askable>"
#: The builtins of cells that inlined.py compiles otherwise, each by its name, and what stands in for it.
ORIGINAL = {name: f"<original {name}>" for name in ("type", "getattr", "hasattr", "setattr")}
NATIVE = {name: f"<native {name}>" for name in ("getattr", "hasattr", "setattr")}
#: Local variables of functions: an object that is asked about and then used, its class, and what a loop has met last: a
#: class of the cell's own, a class that type() gives, and an exact str. Never variables of a module or a class, nor
#: shared with another function: other code could bind them between the question and the use. What was met last lives as
#: long as the function runs, which no code can tell of a str, nor of a class: the session keeps these anyway.
HELD = "<held>"
KIND = "<kind>"
LAST = "<last>"
LAST_KIND = "<last kind>"
LAST_TEXT = "<last text>"
#: The value of the last expression of a cell, in its globals.
VALUE = "<value>"
#: In the globals of a session whose cells have the object `files`.
FILES = "<files>"
#: The guards that code in a class body calls. Class bodies look up names first in what a `__prepare__` returned, so
#: these are declared global there.
IN_BODIES = (
    STORE, PRIVATE, ATTRIBUTE, IMPORT, IMPORT_FROM, REMOVED, RENAME, PATTERN, PATTERN_VALUE, OPERATED, NAMESPACE,
    CLASSES, TYPE, EXCEPTION, ANY_EXCEPTION, LOAD, OPEN, SETTABLE, TEMPLATES, TEXT, TEXT_ATTRIBUTE, STRING, KINDS, SEEN,
    KIND_OF, ASKABLE, *ORIGINAL.values(), *NATIVE.values(),
)  # fmt: skip

#: Names that RestrictedPython uses for its guards. They have no meaning here, but stay reserved, so that a reader never
#: has to ask whether `_getattr_` in a cell is the guard.
HOOKS = frozenset(
    {
        "_getattr_", "_getitem_", "_getiter_", "_iter_unpack_sequence_", "_unpack_sequence_", "_apply_",
        "_inplacevar_", "_write_", "_print_", "_print", "_call_print", "_import_", "_guarded_writes",
    }
)  # fmt: skip

#: Public attributes that lead from a value to frames, code or classes that the cell was not given; and the registrar.
CLOSED = INSPECT_ATTRIBUTES | {REGISTRAR}

#: `str.format` and similar functions read attributes by string; AttributeError.obj is an object of the code that failed
#: (CVE-2024-47532); a pattern's groupindex is a view of a dict that `re` keeps. Loads of these names have a guard; all
#: other public names are plain attribute loads.
FORMATTERS = frozenset({"format", "format_map", "vformat", "get_field", "get_value", "Formatter"})
#: `mro` of a class lists classes that cells must not get; C's `throw` can be called again while it runs.
GUARDED = FORMATTERS | {"obj", "groupindex", "sub", "subn", "expand", "mro", "throw"}
#: decimal returns objects for them that point into the memory of the context without a reference to it. On all other
#: objects they are ordinary public names.
OF_CONTEXTS = frozenset({"flags", "traps"})


def words(text: str) -> frozenset[str]:
    """The words of `text`, as a set."""
    return frozenset(text.split())


#: Data-model methods that implement an operator or a builtin. A class may define them, and may call them by name on its
#: own instances, on super() and on plain built-in values.
OPERATORS = words(
    "__init__ __repr__ __str__ __bytes__ __format__ __hash__ __bool__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ "
    "__len__ __length_hint__ __contains__ __iter__ __next__ __reversed__ __getitem__ __setitem__ __delitem__ "
    "__missing__ __call__ __enter__ __exit__ __neg__ __pos__ __abs__ __invert__ __int__ __float__ __complex__ "
    "__index__ __round__ __trunc__ __floor__ __ceil__ __dir__ __sizeof__ __post_init__ __copy__ __deepcopy__"
).union(
    f"__{prefix}{operator}__"
    for operator in words("add sub mul truediv floordiv mod divmod pow lshift rshift and or xor matmul")
    for prefix in ("", "r", "i")
)

#: Those that a cell may call by name on instances of all classes, because the operator does exactly the same. Left out
#: are those whose operator or statement checks or prepares the arguments first, such as `__format__` and `__exit__`.
AS_OPERATORS = words(
    "__repr__ __str__ __hash__ __bool__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __len__ __contains__ __iter__ "
    "__next__ __reversed__ __getitem__ __call__ __neg__ __pos__ __abs__ __int__ __float__ __index__ __add__ __sub__ "
    "__mul__ __truediv__ __floordiv__ __mod__ __and__ __or__ __xor__"
)

#: Hooks that only receive names, classes or instances that the cell itself made. A class may define them.
#: __getattribute__ is missing because it would let an instance lie about its __class__ to isinstance();
#: __reduce__, __getstate__ and similar ones because copy passes their result to an unguarded setattr;
#: __del__ because it would run between cells; __prepare__, __instancecheck__ and the rest of a metaclass
#: because metaclasses are refused; __mro_entries__ because it would add bases after the guard has checked them;
#: __buffer__ because it returns a memoryview.
HOOK_METHODS = frozenset(
    {
        "__new__", "__getattr__", "__setattr__", "__delattr__", "__get__", "__set__", "__delete__",
        "__set_name__", "__init_subclass__", "__class_getitem__",
        "__await__", "__aiter__", "__anext__", "__aenter__", "__aexit__",
    }
)  # fmt: skip
DEFINABLE = OPERATORS | HOOK_METHODS

#: Dunder names that a class body may bind without a `def`.
CLASS_LEVEL = DEFINABLE | {"__slots__", "__match_args__", "__doc__"}
#: Dunder names that a module may bind: conventions that no code reads.
MODULE_LEVEL = frozenset({"__all__", "__version__", "__author__", "__doc__"})

#: Attributes whose value is text (or None): their guard returns nothing else.
TEXTS = frozenset({"__name__", "__qualname__", "__module__", "__doc__", "__version__"})
#: Attributes that their guard only allows on the cell's own classes, their instances and the cell's own functions.
OWN_ONLY = frozenset(
    {
        "__dict__", "__annotations__", "__members__", "__slots__", "__match_args__", "__defaults__", "__kwdefaults__",
        "__dataclass_fields__", "__wrapped__",
    }
)  # fmt: skip
#: Attributes that lead to classes: their guard gives what type() gives.
OF_CLASSES = frozenset({"__class__", "__mro__", "__bases__", "__base__"})
#: Attributes of exceptions: their guard leads to no exception that the cell could not have caught itself.
OF_EXCEPTIONS = frozenset({"__cause__", "__context__", "__suppress_context__", "__notes__", "__traceback__"})
#: What typing.get_args() and get_origin() tell of an alias such as list[int]; nothing else has them.
OF_ALIASES = frozenset({"__args__", "__origin__", "__metadata__"})
#: Every dunder attribute that a cell may write after a dot; each goes through a guard at run time.
READABLE = DEFINABLE | TEXTS | OWN_ONLY | OF_CLASSES | OF_EXCEPTIONS | OF_ALIASES
#: Names that hasattr() only finds where they can be read, because honest code reads them next.
READ_AFTER_QUESTION = OWN_ONLY | OF_CLASSES | OF_EXCEPTIONS
#: Attributes that a cell may set on its own functions and classes, as text only.
RENAMABLE = frozenset({"__name__", "__qualname__", "__doc__"})

#: Public methods of namedtuple, which start with an underscore to avoid conflicts with field names. `_field_defaults`
#: is missing because it is a mutable dict: it is only open on the cell's own classes.
TUPLE_METHODS = frozenset({"_asdict", "_fields", "_make", "_replace"})

#: Builtins that do not exist in cells, and what to use instead.
REMOVED_BUILTINS = {
    "open": "there are no files; the data is in the variable `context`",
    "exec": "write the code in the cell itself",
    "eval": "use int(), float(), json.loads() or an explicit expression",
    "compile": "write the code in the cell itself; for patterns use re.compile()",
    "input": "nobody can answer; the data is in the variable `context`",
    "breakpoint": "use print()",
    "memoryview": "slice bytes or a bytearray",
    "help": "use print(x.__doc__)",
    "aiter": "use `async for`",
    "anext": "use `async for`",
}

#: Names that are refused where a cell loads them, and only when it does: honest code expects some to be missing.
ABSENT = frozenset(REMOVED_BUILTINS) | {"__import__", "__file__"}

#: What to use instead of a closed name, where there is better advice than the general one.
INSTEAD = {
    "__dict__": "use vars(x) on instances of your own classes",
    "__class__": "make an instance of the other class",
    "__import__": "use an import statement",
    "__builtins__": "call the builtin by its own name",
    "__traceback__": "use traceback.format_exc(), or print repr(error)",
    "__context__": "write `raise ... from error`",
    "__cause__": "write `raise ... from error`",
    "__notes__": "use error.add_note()",
    "__code__": "keep what you need in variables of your own",
    "__globals__": "use globals() for the variables of the cell",
    "__subclasses__": "keep a list of your classes yourself",
    "__del__": "use a with statement or try/finally",
    "__getattribute__": "define __getattr__ instead",
    "__file__": "a cell has no file",
    "__reduce__": "define __copy__ or __deepcopy__",
    "__reduce_ex__": "define __copy__ or __deepcopy__",
    "__getstate__": "define __copy__ or __deepcopy__",
    "__setstate__": "define __copy__ or __deepcopy__",
}


def near(guard: str) -> str:
    """The local variable of a function by which its loops find the guard `guard`."""
    return f"<near {guard[1:]}"


def shown(name: str) -> str:
    """`name` for a message: quoted, and shortened."""
    return repr(name if len(name) <= 60 else name[:60] + "...")


def is_dunder(name: str) -> bool:
    """Whether `name` has the form __x__, which is reserved for the language."""
    return name.startswith("__") and name.endswith("__") and name.strip("_") != ""


def is_private(name: str) -> bool:
    """Whether `name` is a cell's own private name: it starts with an underscore and is not `_` itself."""
    return name.startswith("_") and name != "_"


def mangled(name: str, class_name: str | None) -> str:
    """`name` as the compiler writes it inside class `class_name`."""
    stem = class_name.lstrip("_") if class_name else ""
    if stem and name.startswith("__") and not name.endswith("__"):
        return f"_{stem}{name}"
    return name


def has_spellings(name: str) -> bool:
    """Whether the variable `name` may have another name in the text: in a class `C`, `__x` and `_C__x` are the same."""
    return "__" in name


def advice(name: str) -> str:
    """What to use instead of a closed name."""
    if name in INSTEAD:
        return INSTEAD[name]
    if is_dunder(name):
        return "use the operator or builtin that stands for it, or a name without the double underscores"
    return "keep what you need in variables of your own"


def absent(name: str) -> tuple[str, str]:
    """The rule and the sentence for a load of `name`, one of ABSENT."""
    if is_dunder(name):
        return "dunder-name", f"the name {shown(name)} belongs to the interpreter; {advice(name)}"
    rule = "code-from-text" if name in ("exec", "eval") else "removed-builtin"
    return rule, f"{name}() does not exist here; {REMOVED_BUILTINS[name]}"


def is_public(name: str) -> bool:
    """Whether a plain attribute load of `name` needs no guard."""
    return not is_private(name) and name not in CLOSED and name not in GUARDED


def is_askable(name: object, builtin: str = "getattr") -> bool:
    """Whether `builtin`, one of getattr(), hasattr() and setattr(), needs no guard for the attribute `name`.

    For setattr() only where the object is one of the cell's own.
    """
    if type(name) is not str:
        return False
    if builtin == "hasattr" and is_dunder(name):
        return name not in READ_AFTER_QUESTION
    return is_positional(name)


def is_positional(name: object) -> bool:
    """Whether a pattern may read the attribute `name`, which is written in it or in a class's `__match_args__`."""
    return type(name) is str and is_public(name) and name not in OF_CONTEXTS


def format_walks(template: str, depth: int = 0) -> Iterator[str]:
    """The attributes that `template.format()` would read, in order, including those in nested format specs.

    It uses the parsers of str.format itself, and raises ValueError for malformed templates as that does.
    """
    if depth > 2:
        raise ValueError("Max string recursion exceeded")
    for _, field, spec, _ in _string.formatter_parser(template):
        if field:
            for is_attribute, name in _string.formatter_field_name_split(field)[1]:
                if is_attribute:
                    yield name
        if spec and "{" in spec:
            yield from format_walks(spec, depth + 1)
