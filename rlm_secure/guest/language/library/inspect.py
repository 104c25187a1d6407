"""inspect, for what a cell has written: signatures, docstrings and kinds of objects. It gives no code and no frames."""

from __future__ import annotations

import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

__all__ = [
    "BoundArguments", "Parameter", "Signature", "cleandoc", "getdoc", "isawaitable", "isbuiltin",
    "isclass", "iscoroutine", "iscoroutinefunction", "isfunction", "isgenerator", "isgeneratorfunction", "ismethod",
    "ismodule", "isroutine", "signature",
]  # fmt: skip
LEFT_OUT = {
    "AGEN_CLOSED AGEN_CREATED AGEN_RUNNING AGEN_SUSPENDED ArgInfo Arguments Attribute BlockFinder BufferFlags "
    "CORO_CLOSED CORO_CREATED CORO_RUNNING CORO_SUSPENDED CO_ASYNC_GENERATOR CO_COROUTINE CO_GENERATOR "
    "CO_HAS_DOCSTRING CO_ITERABLE_COROUTINE CO_METHOD CO_NESTED CO_NEWLOCALS CO_NOFREE CO_OPTIMIZED CO_VARARGS "
    "CO_VARKEYWORDS ClassFoundException ClosureVars EndOfBlock FrameInfo FullArgSpec GEN_CLOSED GEN_CREATED "
    "GEN_RUNNING GEN_SUSPENDED OrderedDict TPFLAGS_IS_ABSTRACT Traceback attrgetter classify_class_attrs "
    "currentframe findsource formatannotation formatannotationrelativeto formatargvalues get_annotations "
    "getabsfile getargs getargvalues getasyncgenlocals getasyncgenstate getattr_static getblock getcallargs "
    "getclasstree getclosurevars getcomments getcoroutinelocals getcoroutinestate getfile getframeinfo "
    "getfullargspec getgeneratorlocals getgeneratorstate getinnerframes getlineno getmembers getmembers_static "
    "getmodule getmodulename getmro getouterframes getsource getsourcefile getsourcelines indentsize isabstract "
    "isasyncgen isasyncgenfunction iscode isdatadescriptor isframe isgetsetdescriptor ismemberdescriptor "
    "ismethoddescriptor ismethodwrapper ispackage istraceback k markcoroutinefunction mod_dict modulesbyfile "
    "namedtuple stack trace unwrap v walktree": "it leads to code, frames, files or every attribute of an object",
}

# Bound by the loader.
signature_of: Callable[[Any], Any]
kind_of: Callable[[Any], str]


class _Empty:
    pass


_Empty.__name__ = _Empty.__qualname__ = "_empty"


class _Kind(int):
    _names = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD")
    _texts = ("positional-only", "positional or keyword", "variadic positional", "keyword-only", "variadic keyword")

    @property
    def name(self) -> str:
        return self._names[self]

    @property
    def value(self) -> int:
        return int(self)

    @property
    def description(self) -> str:
        return self._texts[self]

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<_ParameterKind.{self.name}: {int(self)}>"


_KINDS = tuple(map(_Kind, range(5)))


def _shown(annotation: Any) -> Any:
    if isinstance(annotation, str):
        return repr(annotation)
    if isclass(annotation) and "[" not in repr(annotation):
        if annotation.__module__ in ("builtins", "__main__"):
            return annotation.__qualname__
        return annotation.__module__ + "." + annotation.__qualname__
    return repr(annotation).removeprefix("typing.") if repr(annotation).startswith("typing.") else repr(annotation)


class Parameter:
    empty = _Empty
    POSITIONAL_ONLY, POSITIONAL_OR_KEYWORD, VAR_POSITIONAL, KEYWORD_ONLY, VAR_KEYWORD = _KINDS

    def __init__(self, name: str, kind: Any, *, default: Any = _Empty, annotation: Any = _Empty) -> None:
        self.name, self.kind, self.default, self.annotation = name, _KINDS[kind], default, annotation

    def replace(self, **changes: Any) -> Any:
        held = {"name": self.name, "kind": self.kind, "default": self.default, "annotation": self.annotation, **changes}
        return Parameter(held["name"], held["kind"], default=held["default"], annotation=held["annotation"])

    def __str__(self) -> str:
        text = {2: "*", 4: "**"}.get(int(self.kind), "") + self.name
        if self.annotation is not _Empty:
            text += f": {_shown(self.annotation)}"
        if self.default is not _Empty:
            text += f" = {self.default!r}" if self.annotation is not _Empty else f"={self.default!r}"
        return text

    def __repr__(self) -> str:
        return f'<Parameter "{self}">'

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Parameter) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.name, int(self.kind)))


class Signature:
    empty = _Empty

    def __init__(self, parameters: Any = None, *, return_annotation: Any = _Empty) -> None:
        self._parameters = {each.name: each for each in parameters or ()}
        self.return_annotation = return_annotation

    @classmethod
    def from_callable(cls, obj: Any, **_options: Any) -> Any:
        return signature(obj)

    @property
    def parameters(self) -> Any:
        return types.MappingProxyType(OrderedDict(self._parameters))

    def replace(self, *, parameters: Any = None, return_annotation: Any = None) -> Any:
        return Signature(
            self._parameters.values() if parameters is None else parameters,
            return_annotation=self.return_annotation if return_annotation is None else return_annotation,
        )

    def __str__(self) -> str:
        words: list[str] = []
        last = -1
        for each in self._parameters.values():
            if last == 0 and each.kind > 0:
                words.append("/")
            if each.kind == 3 and last not in (2, 3):
                words.append("*")
            words.append(str(each))
            last = int(each.kind)
        if last == 0:
            words.append("/")
        found = self.return_annotation
        return f"({', '.join(words)})" + ("" if found is _Empty else f" -> {_shown(found)}")

    def __repr__(self) -> str:
        return f"<Signature {self}>"

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, Signature) and self._parameters == other._parameters
            and self.return_annotation == other.return_annotation
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash(tuple(self._parameters))

    def bind(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._bind(args, kwargs, False)

    def bind_partial(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._bind(args, kwargs, True)

    def _bind(self, args: Any, kwargs: Any, partial: bool) -> Any:
        given = list(args)
        found: dict[str, Any] = {}
        for each in self._parameters.values():
            kind = int(each.kind)
            if kind == 2:
                if given:
                    found[each.name] = tuple(given)
                    given = []
            elif kind == 4:
                if kwargs:
                    found[each.name] = kwargs
                    kwargs = {}
            elif kind < 2 and given:
                if each.name in kwargs and kind == 1:
                    raise TypeError(f"multiple values for argument {each.name!r}")
                found[each.name] = given.pop(0)
            elif kind and each.name in kwargs:
                kwargs = dict(kwargs)
                found[each.name] = kwargs.pop(each.name)
            elif each.default is _Empty and not partial:
                raise TypeError(f"missing a required argument: {each.name!r}")
        if given:
            raise TypeError("too many positional arguments")
        if kwargs:
            raise TypeError(f"got an unexpected keyword argument {next(iter(kwargs))!r}")
        return BoundArguments(self, found)


class BoundArguments:
    def __init__(self, signature: Any, arguments: Any) -> None:
        self.signature, self.arguments = signature, arguments

    def apply_defaults(self) -> None:
        found = {}
        for name, each in self.signature.parameters.items():
            if name in self.arguments:
                found[name] = self.arguments[name]
            elif each.default is not _Empty:
                found[name] = each.default
            elif each.kind in (2, 4):
                found[name] = () if each.kind == 2 else {}
        self.arguments = found

    @property
    def args(self) -> Any:
        values: list[Any] = []
        for name, each in self.signature.parameters.items():
            if each.kind > 2 or name not in self.arguments:
                break
            if each.kind == 2:
                values.extend(self.arguments[name])
            else:
                values.append(self.arguments[name])
        return tuple(values)

    @property
    def kwargs(self) -> Any:
        values: dict[str, Any] = {}
        skipped = False
        for name, each in self.signature.parameters.items():
            skipped = skipped or name not in self.arguments
            if name in self.arguments and each.kind == 4:
                values.update(self.arguments[name])
            elif name in self.arguments and (each.kind == 3 or (skipped and each.kind == 1)):
                values[name] = self.arguments[name]
        return values

    def __repr__(self) -> str:
        return f"<BoundArguments ({', '.join(f'{name}={value!r}' for name, value in self.arguments.items())})>"


def signature(obj: Any, **_options: Any) -> Any:
    found = signature_of(obj)
    if found is None:
        if not callable(obj):
            raise TypeError(f"{obj!r} is not a callable object")
        raise ValueError(f"no signature found for {obj!r}; only functions and classes of the cell have one here")
    parameters, hints = found
    made = [
        Parameter(name, kind, default=default[0] if default else _Empty, annotation=hints.get(name, _Empty))
        for name, kind, default in parameters
    ]
    return Signature(made, return_annotation=hints.get("return", _Empty))


def cleandoc(doc: str) -> str:
    lines = doc.expandtabs().split("\n")
    indents = [len(each) - len(each.lstrip()) for each in lines[1:] if each.strip()]
    margin = min(indents, default=0)
    cleaned = [lines[0].lstrip(), *[each[margin:] for each in lines[1:]]]
    while cleaned and not cleaned[-1]:
        cleaned.pop()
    while cleaned and not cleaned[0]:
        cleaned.pop(0)
    return "\n".join(cleaned)


def getdoc(object: Any) -> Any:
    found = object.__doc__
    return cleandoc(found) if isinstance(found, str) else None


def isclass(object: Any) -> bool:
    return kind_of(object) == "class"


def isfunction(object: Any) -> bool:
    return "function" in kind_of(object).split()


def ismethod(object: Any) -> bool:
    return kind_of(object) == "method"


def isbuiltin(object: Any) -> bool:
    return kind_of(object) == "builtin"


def isroutine(object: Any) -> bool:
    return isbuiltin(object) or isfunction(object) or ismethod(object)


def ismodule(object: Any) -> bool:
    return kind_of(object) == "module"


def isgenerator(object: Any) -> bool:
    return kind_of(object) == "generator"


def iscoroutine(object: Any) -> bool:
    return kind_of(object) == "coroutine"


def isawaitable(object: Any) -> bool:
    return iscoroutine(object) or hasattr(type(object), "__await__")


def isgeneratorfunction(obj: Any) -> bool:
    return kind_of(obj) == "function of generators"


def iscoroutinefunction(obj: Any) -> bool:
    return kind_of(obj) == "function of coroutines"

