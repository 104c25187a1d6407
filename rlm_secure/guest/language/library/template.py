"""string.Template, from which a class of a cell may derive: its pattern is always a compiled one."""

from __future__ import annotations

import re
from collections import ChainMap
from typing import Any

_NOTHING: dict[str, Any] = {}


class Template:
    delimiter = "$"
    idpattern = r"(?a:[_a-z][_a-z0-9]*)"
    braceidpattern: Any = None
    flags = re.IGNORECASE
    pattern: Any
    template: str

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.pattern = _compiled(cls, cls.__dict__.get("pattern"))

    def __init__(self, template: str) -> None:
        self.template = template

    def _invalid(self, found: Any) -> None:
        at = found.start("invalid")
        lines = self.template[:at].splitlines(keepends=True)
        line, column = (len(lines), at - len("".join(lines[:-1]))) if lines else (1, 1)
        raise ValueError(f"Invalid placeholder in string: line {line}, col {column}")

    def substitute(self, mapping: Any = _NOTHING, /, **kws: Any) -> str:
        given = kws if mapping is _NOTHING else ChainMap(kws, mapping) if kws else mapping

        def convert(found: Any) -> Any:
            named = found.group("named") or found.group("braced")
            if named is not None:
                return str(given[named])
            if found.group("escaped") is not None:
                return self.delimiter
            if found.group("invalid") is not None:
                self._invalid(found)
            raise ValueError("Unrecognized named group in pattern", self.pattern)

        filled: str = self.pattern.sub(convert, self.template)
        return filled

    def safe_substitute(self, mapping: Any = _NOTHING, /, **kws: Any) -> str:
        given = kws if mapping is _NOTHING else ChainMap(kws, mapping) if kws else mapping

        def convert(found: Any) -> Any:
            named = found.group("named") or found.group("braced")
            if named is not None:
                try:
                    return str(given[named])
                except KeyError:
                    return found.group()
            if found.group("escaped") is not None:
                return self.delimiter
            if found.group("invalid") is not None:
                return found.group()
            raise ValueError("Unrecognized named group in pattern", self.pattern)

        filled: str = self.pattern.sub(convert, self.template)
        return filled

    def is_valid(self) -> bool:
        return all(
            found.group("named") is not None or found.group("braced") is not None or found.group("escaped") is not None
            for found in self.pattern.finditer(self.template)
        )

    def get_identifiers(self) -> list[str]:
        names: list[str] = []
        for found in self.pattern.finditer(self.template):
            named = found.group("named") or found.group("braced")
            if named is not None and named not in names:
                names.append(named)
        return names


def _compiled(cls: Any, pattern: Any) -> Any:
    if pattern is None:
        mark, name = re.escape(cls.delimiter), cls.idpattern
        pattern = (
            f"{mark}(?:(?P<escaped>{mark})|(?P<named>{name})|"
            f"{{(?P<braced>{cls.braceidpattern or name})}}|(?P<invalid>))"
        )
    return re.compile(pattern, cls.flags | re.VERBOSE)


Template.pattern = _compiled(Template, None)
