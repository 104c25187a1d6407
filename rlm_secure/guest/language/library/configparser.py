"""configparser: the text of INI files."""

from __future__ import annotations

import itertools
import re
from collections import ChainMap
from collections.abc import Iterator, MutableMapping
from typing import Any, ClassVar

__all__ = [
    "DEFAULTSECT", "MAX_INTERPOLATION_DEPTH", "BasicInterpolation", "ConfigParser", "DuplicateOptionError",
    "DuplicateSectionError", "Error", "ExtendedInterpolation", "Interpolation", "InterpolationDepthError",
    "InterpolationError", "InterpolationMissingOptionError", "InterpolationSyntaxError", "MissingSectionHeaderError",
    "NoOptionError", "NoSectionError", "ParsingError", "RawConfigParser", "SectionProxy",
]  # fmt: skip
LEFT_OUT = {
    "ConverterMapping LegacyInterpolation SafeConfigParser MultilineContinuationError UNNAMED_SECTION "
    "InvalidWriteError UnnamedSectionDisabledError": "rarely used; use ConfigParser",
}

DEFAULTSECT = "DEFAULT"
MAX_INTERPOLATION_DEPTH = 10
_UNSET: Any = object()


class Error(Exception):
    def __init__(self, msg: str = "") -> None:
        self.message = msg
        super().__init__(msg)


def _where(source: Any, lineno: Any) -> str:
    if source is None:
        return ""
    return f"While reading from {source!r}" + (f" [line {lineno:2d}]" if lineno else "") + ": "


class NoSectionError(Error):
    def __init__(self, section: Any) -> None:
        super().__init__(f"No section: {section!r}")
        self.section = section
        self.args = (section,)

    def __str__(self) -> str:
        return self.message


class DuplicateSectionError(Error):
    def __init__(self, section: Any, source: Any = None, lineno: Any = None) -> None:
        where = _where(source, lineno)
        super().__init__(f"{where}{'S' if not where else 's'}ection {section!r} already exists")
        self.section, self.source, self.lineno = section, source, lineno


class DuplicateOptionError(Error):
    def __init__(self, section: Any, option: Any, source: Any = None, lineno: Any = None) -> None:
        where = _where(source, lineno)
        super().__init__(f"{where}{'O' if not where else 'o'}ption {option!r} in section {section!r} already exists")
        self.section, self.option, self.source, self.lineno = section, option, source, lineno


class NoOptionError(Error):
    def __init__(self, option: Any, section: Any) -> None:
        super().__init__(f"No option {option!r} in section: {section!r}")
        self.option, self.section = option, section


class InterpolationError(Error):
    def __init__(self, option: Any, section: Any, msg: str) -> None:
        super().__init__(msg)
        self.option, self.section = option, section


class InterpolationMissingOptionError(InterpolationError):
    def __init__(self, option: Any, section: Any, rawval: Any, reference: Any) -> None:
        super().__init__(
            option,
            section,
            f"Bad value substitution: option {option!r} in section {section!r} contains an interpolation key "
            f"{reference!r} which is not a valid option name. Raw value: {rawval!r}",
        )
        self.reference = reference


class InterpolationSyntaxError(InterpolationError):
    pass


class InterpolationDepthError(InterpolationError):
    def __init__(self, option: Any, section: Any, rawval: Any) -> None:
        super().__init__(
            option,
            section,
            f"Recursion limit exceeded in value substitution: option {option!r} in section {section!r} contains an "
            f"interpolation key which cannot be substituted in {MAX_INTERPOLATION_DEPTH} steps. Raw value: {rawval!r}",
        )


class ParsingError(Error):
    def __init__(self, source: Any, *_more: Any) -> None:
        super().__init__(f"Source contains parsing errors: {source!r}")
        self.source = source
        self.errors: list[tuple[int, str]] = []

    def append(self, lineno: int, line: str) -> None:
        self.errors.append((lineno, line))
        self.message += f"\n\t[line {lineno:2d}]: {line}"
        self.args = (self.message,)


class MissingSectionHeaderError(ParsingError):
    def __init__(self, filename: Any, lineno: int, line: str) -> None:
        super().__init__(filename)
        self.message = f"File contains no section headers.\nfile: {filename!r}, line: {lineno}\n{line!r}"
        self.args = (self.message,)
        self.lineno, self.line = lineno, line


class Interpolation:
    def before_get(self, parser: Any, section: Any, option: Any, value: Any, defaults: Any) -> Any:
        return value

    def before_set(self, parser: Any, section: Any, option: Any, value: Any) -> Any:
        return value


class _Substituting(Interpolation):
    _mark = _open = _close = _strips = ""

    def before_get(self, parser: Any, section: Any, option: Any, value: Any, defaults: Any) -> Any:
        return self._filled(parser, section, option, value, defaults, 1)

    def before_set(self, parser: Any, section: Any, option: Any, value: Any) -> Any:
        mark = self._mark
        if mark in value.replace(mark + mark, "").replace(mark + self._open, ""):
            raise ValueError(f"invalid interpolation syntax in {value!r} at position {value.find(mark)}")
        return value

    def _filled(self, parser: Any, section: Any, option: Any, value: Any, defaults: Any, depth: int) -> Any:
        mark = self._mark
        if not value or mark not in value:
            return value
        if depth > MAX_INTERPOLATION_DEPTH:
            raise InterpolationDepthError(option, section, value)
        pieces: list[str] = []
        at = 0
        while True:
            found = value.find(mark, at)
            if found < 0:
                return "".join([*pieces, value[at:]])
            pieces.append(value[at:found])
            after = value[found + 1 : found + 2]
            if after == mark:
                pieces.append(mark)
                at = found + 2
                continue
            end = value.find(self._close, found)
            if after != self._open or end < 0:
                said = f"{mark!r} must be followed by {mark!r} or {self._open!r}, found: {value[found:]!r}"
                if after == self._open:
                    said = f"bad interpolation variable reference {value[found:]!r}"
                raise InterpolationSyntaxError(option, section, said)
            name = value[found + 2 : end]
            at = end + len(self._close)
            pieces.append(self._value(parser, section, option, value, name, defaults, depth))

    def _value(
        self, parser: Any, section: Any, option: Any, value: Any, name: Any, defaults: Any, depth: int
    ) -> Any:
        key = parser.optionxform(name)
        if key not in defaults:
            raise InterpolationMissingOptionError(option, section, value, name)
        return self._filled(parser, section, option, defaults[key], defaults, depth + 1)


class BasicInterpolation(_Substituting):
    _mark, _open, _close = "%", "(", ")s"


class ExtendedInterpolation(_Substituting):
    _mark, _open, _close = "$", "{", "}"

    def _value(
        self, parser: Any, section: Any, option: Any, value: Any, name: Any, defaults: Any, depth: int
    ) -> Any:
        if ":" not in name:
            return super()._value(parser, section, option, value, name, defaults, depth)
        other, _, key = name.partition(":")
        try:
            found = parser.get(other, parser.optionxform(key), raw=True)
        except Error:
            raise InterpolationMissingOptionError(option, section, value, name) from None
        held = dict(parser.items(other, raw=True))
        return self._filled(parser, other, key, found, held, depth + 1)


class RawConfigParser(MutableMapping):  # type: ignore[type-arg]
    BOOLEAN_STATES: ClassVar[dict[str, bool]] = {
        "1": True, "yes": True, "true": True, "on": True, "0": False, "no": False, "false": False, "off": False
    }  # fmt: skip
    _interpolation: Any = Interpolation()
    SECTCRE = re.compile(r"\A\[(?P<header>.+)\]")

    def __init__(
        self,
        defaults: Any = None,
        dict_type: Any = dict,
        allow_no_value: bool = False,
        *,
        delimiters: Any = ("=", ":"),
        comment_prefixes: Any = ("#", ";"),
        inline_comment_prefixes: Any = None,
        strict: bool = True,
        empty_lines_in_values: bool = True,
        default_section: str = DEFAULTSECT,
        interpolation: Any = _UNSET,
        converters: Any = None,
    ) -> None:
        self._delimiters = tuple(delimiters)
        self._comments = tuple(comment_prefixes or ())
        self._inline = tuple(inline_comment_prefixes or ())
        self._no_value, self._strict, self._empty_lines = allow_no_value, strict, empty_lines_in_values
        self.default_section = default_section
        if interpolation is not _UNSET:
            self._interpolation = Interpolation() if interpolation is None else interpolation
        self._defaults: dict[str, Any] = {}
        self._sections: dict[str, dict[str, Any]] = {}
        self.converters = {"int": int, "float": float, "boolean": self._convert_to_boolean, **(converters or {})}
        for name, convert in (converters or {}).items():
            setattr(self, f"get{name}", _getter(self, convert))
        for key, value in (defaults or {}).items():
            self._defaults[self.optionxform(str(key))] = None if value is None else str(value)

    def optionxform(self, optionstr: Any) -> Any:
        return optionstr.lower()

    def defaults(self) -> Any:
        return self._defaults

    def sections(self) -> list[str]:
        return list(self._sections)

    def add_section(self, section: Any) -> None:
        if section == self.default_section:
            raise ValueError(f"Invalid section name: {section!r}")
        if section in self._sections:
            raise DuplicateSectionError(section)
        self._sections[section] = {}

    def has_section(self, section: Any) -> bool:
        return section in self._sections

    def options(self, section: Any) -> list[str]:
        if section not in self._sections:
            raise NoSectionError(section)
        return list({**self._sections[section], **self._defaults})

    def has_option(self, section: Any, option: Any) -> bool:
        option = self.optionxform(option)
        if not section or section == self.default_section:
            return option in self._defaults
        return section in self._sections and (option in self._sections[section] or option in self._defaults)

    def read(self, filenames: Any, encoding: Any = None) -> list[str]:
        return []

    def read_file(self, f: Any, source: Any = None) -> None:
        self._read(f, getattr(f, "name", "<???>") if source is None else source)

    def read_string(self, string: str, source: str = "<string>") -> None:
        self._read(string.split("\n"), source)

    def read_dict(self, dictionary: Any, source: str = "<dict>") -> None:
        met = set()
        for section, keys in dictionary.items():
            section = str(section)
            if section != self.default_section and section not in self._sections:
                self.add_section(section)
            elif self._strict and section in met:
                raise DuplicateSectionError(section, source)
            met.add(section)
            for key, value in keys.items():
                self.set(section, self.optionxform(str(key)), None if value is None else str(value))

    def _known(self, section: Any, fallback: bool = False) -> Any:
        if section in self._sections:
            return self._sections[section]
        if section != self.default_section and not fallback:
            raise NoSectionError(section)
        return {}

    def get(  # type: ignore[override]
        self, section: Any, option: Any, *, raw: bool = False, vars: Any = None, fallback: Any = _UNSET
    ) -> Any:
        try:
            held = self._all(section, vars)
        except NoSectionError:
            if fallback is _UNSET:
                raise
            return fallback
        option = self.optionxform(option)
        if option not in held:
            if fallback is _UNSET:
                raise NoOptionError(option, section)
            return fallback
        value = held[option]
        return value if raw or value is None else self._interpolation.before_get(self, section, option, value, held)

    def _all(self, section: Any, vars: Any) -> Any:
        given = {self.optionxform(key): None if value is None else str(value) for key, value in (vars or {}).items()}
        return ChainMap(given, self._known(section), self._defaults)

    def _get_conv(self, section: Any, option: Any, conv: Any, fallback: Any = _UNSET, **kwargs: Any) -> Any:
        try:
            value = self.get(section, option, **kwargs)
        except (NoSectionError, NoOptionError):
            if fallback is _UNSET:
                raise
            return fallback
        return conv(value)

    def getint(self, section: Any, option: Any, **kwargs: Any) -> Any:
        return self._get_conv(section, option, int, **kwargs)

    def getfloat(self, section: Any, option: Any, **kwargs: Any) -> Any:
        return self._get_conv(section, option, float, **kwargs)

    def getboolean(self, section: Any, option: Any, **kwargs: Any) -> Any:
        return self._get_conv(section, option, self._convert_to_boolean, **kwargs)

    def _convert_to_boolean(self, value: Any) -> Any:
        if value.lower() not in self.BOOLEAN_STATES:
            raise ValueError(f"Not a boolean: {value}")
        return self.BOOLEAN_STATES[value.lower()]

    def items(self, section: Any = _UNSET, raw: bool = False, vars: Any = None) -> Any:
        if section is _UNSET:
            return [(name, self[name]) for name in self]
        held = {**self._defaults, **self._known(section), **(self._all(section, vars).maps[0])}
        fill = self._interpolation.before_get
        return [
            (name, value if raw or value is None else fill(self, section, name, value, held))
            for name, value in held.items()
        ]

    def set(self, section: Any, option: Any, value: Any = None) -> None:
        if value:
            value = self._interpolation.before_set(self, section, option, value)
        if not section or section == self.default_section:
            held = self._defaults
        elif section not in self._sections:
            raise NoSectionError(section)
        else:
            held = self._sections[section]
        held[self.optionxform(option)] = value

    def write(self, fp: Any, space_around_delimiters: bool = True) -> None:
        delimiter = f" {self._delimiters[0]} " if space_around_delimiters else self._delimiters[0]
        held = [(self.default_section, self._defaults)] if self._defaults else []
        for section, options in [*held, *self._sections.items()]:
            fp.write(f"[{section}]\n")
            for key, value in options.items():
                text = "" if value is None and self._no_value else delimiter + str(value).replace("\n", "\n\t")
                fp.write(f"{key}{text}\n")
            fp.write("\n")

    def remove_option(self, section: Any, option: Any) -> bool:
        held = self._defaults if not section or section == self.default_section else self._sections.get(section)
        if held is None:
            raise NoSectionError(section)
        return held.pop(self.optionxform(option), _UNSET) is not _UNSET

    def remove_section(self, section: Any) -> bool:
        return self._sections.pop(section, None) is not None

    def __getitem__(self, key: Any) -> Any:
        if key != self.default_section and key not in self._sections:
            raise KeyError(key)
        return SectionProxy(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        (self._defaults if key == self.default_section else self._sections.get(key, {})).clear()
        self.read_dict({key: value})

    def __delitem__(self, key: Any) -> None:
        if key == self.default_section:
            raise ValueError("Cannot remove the default section.")
        if key not in self._sections:
            raise KeyError(key)
        del self._sections[key]

    def __contains__(self, key: Any) -> bool:
        return key == self.default_section or key in self._sections

    def __len__(self) -> int:
        return len(self._sections) + 1

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain((self.default_section,), self._sections)

    # ---- reading

    def _without_comment(self, line: str) -> str:
        if line.strip().startswith(self._comments or ("\0",)):
            return ""
        for prefix in self._inline:
            at = line.find(prefix)
            while at >= 0:
                if at == 0 or line[at - 1].isspace():
                    line = line[:at]
                    break
                at = line.find(prefix, at + 1)
        return line.strip()

    def _split(self, text: str) -> tuple[str, Any]:
        places = [(text.find(each), each) for each in self._delimiters if each in text]
        if not places:
            return text, None
        at, delimiter = min(places)
        return text[:at].rstrip(), text[at + len(delimiter) :].strip()

    def _read(self, lines: Any, source: Any) -> None:
        held: Any = None
        section = option = None
        indent = 0
        met: set[Any] = set()
        values: list[tuple[Any, Any, list[str]]] = []
        error: Any = None
        for number, line in enumerate(lines, 1):
            text = self._without_comment(line)
            if not text:
                is_comment = bool(line.strip())
                if self._empty_lines:
                    if not is_comment and option is not None and values and values[-1][2]:
                        values[-1][2].append("")
                else:
                    indent = 1 << 30
                continue
            deep = len(line) - len(line.lstrip())
            if held is not None and option and deep > indent and values[-1][2]:
                values[-1][2].append(text)
                continue
            indent = deep
            found = self.SECTCRE.match(text)
            if found:
                section, option = found.group("header"), None
                if section in self._sections:
                    if self._strict and section in met:
                        raise DuplicateSectionError(section, source, number)
                    held = self._sections[section]
                elif section == self.default_section:
                    held = self._defaults
                else:
                    held = self._sections[section] = {}
                met.add(section)
                continue
            if held is None:
                raise MissingSectionHeaderError(source, number, line)
            name, value = self._split(text)
            if not name or (value is None and not self._no_value):
                error = ParsingError(source) if error is None else error
                error.append(number, repr(line))
                continue
            option = self.optionxform(name.rstrip())
            if self._strict and (section, option) in met:
                raise DuplicateOptionError(section, option, source, number)
            met.add((section, option))
            held[option] = None
            values.append((held, option, [] if value is None else [value]))
        for into, option, pieces in values:
            into[option] = "\n".join(pieces).rstrip() if pieces else None
        if error is not None:
            raise error


class ConfigParser(RawConfigParser):
    _interpolation = BasicInterpolation()

    def set(self, section: Any, option: Any, value: Any = None) -> None:
        if not isinstance(option, str):
            raise TypeError("option keys must be strings")
        if not isinstance(value, str) and not (value is None and self._no_value):
            raise TypeError("option values must be strings")
        super().set(section, option, value)

    def add_section(self, section: Any) -> None:
        if not isinstance(section, str):
            raise TypeError("section names must be strings")
        super().add_section(section)


def _getter(parser: Any, convert: Any) -> Any:
    return lambda section, option, **options: parser._get_conv(section, option, convert, **options)


class SectionProxy(MutableMapping):  # type: ignore[type-arg]
    def __init__(self, parser: Any, name: Any) -> None:
        self.parser, self.name = parser, name
        for word, convert in parser.converters.items():
            setattr(self, f"get{word}", self._converting(convert))

    def _converting(self, convert: Any) -> Any:
        def get(option: Any, fallback: Any = None, **options: Any) -> Any:
            return self.parser._get_conv(self.name, option, convert, fallback=fallback, **options)

        return get

    def __repr__(self) -> str:
        return f"<Section: {self.name}>"

    def __getitem__(self, key: Any) -> Any:
        if not self.parser.has_option(self.name, key):
            raise KeyError(key)
        return self.parser.get(self.name, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.parser.set(self.name, key, value)

    def __delitem__(self, key: Any) -> None:
        if not self.parser.has_option(self.name, key) or not self.parser.remove_option(self.name, key):
            raise KeyError(key)

    def __contains__(self, key: Any) -> Any:
        return self.parser.has_option(self.name, key)

    def _options(self) -> Any:
        if self.name == self.parser.default_section:
            return list(self.parser.defaults())
        return self.parser.options(self.name)

    def __len__(self) -> int:
        return len(self._options())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._options())

    def get(self, option: Any, fallback: Any = None, *, raw: bool = False, vars: Any = None, **_options: Any) -> Any:
        return self.parser.get(self.name, option, raw=raw, vars=vars, fallback=fallback)
