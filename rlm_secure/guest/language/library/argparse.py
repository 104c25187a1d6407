"""argparse: parses the lists of arguments that a cell passes, and writes the help for them."""

from __future__ import annotations

import re
import sys
import textwrap
from typing import Any

__all__ = [
    "ONE_OR_MORE", "OPTIONAL", "PARSER", "REMAINDER", "SUPPRESS", "ZERO_OR_MORE", "Action",
    "ArgumentDefaultsHelpFormatter", "ArgumentError", "ArgumentParser", "ArgumentTypeError",
    "BooleanOptionalAction", "HelpFormatter", "MetavarTypeHelpFormatter", "Namespace",
    "RawDescriptionHelpFormatter", "RawTextHelpFormatter",
]  # fmt: skip
LEFT_OUT = {"FileType": "there are no files; take the text itself", "ngettext gettext": "internal"}

SUPPRESS, OPTIONAL, ZERO_OR_MORE, ONE_OR_MORE, PARSER, REMAINDER = "==SUPPRESS==", "?", "*", "+", "A...", "..."
_WIDTH, _COLUMN = 78, 24
_NUMBER = re.compile(r"-\d+|-\d*\.\d+")


class ArgumentTypeError(Exception):
    pass


class ArgumentError(Exception):
    def __init__(self, argument: Any, message: str) -> None:
        super().__init__(argument, message)
        self.argument_name = _name_of(argument)
        self.message = message

    def __str__(self) -> str:
        return self.message if self.argument_name is None else f"argument {self.argument_name}: {self.message}"


def _name_of(argument: Any) -> Any:
    if argument is None:
        return None
    if argument.option_strings:
        return "/".join(argument.option_strings)
    if argument.metavar not in (None, SUPPRESS):
        return argument.metavar
    if argument.dest not in (None, SUPPRESS):
        return argument.dest
    return "{" + ",".join(map(str, argument.choices)) + "}" if argument.choices else None


class Namespace:
    def __init__(self, **kwargs: Any) -> None:
        for name, value in kwargs.items():
            setattr(self, name, value)

    def __eq__(self, other: Any) -> bool:
        return vars(self) == vars(other) if isinstance(other, Namespace) else NotImplemented

    def __contains__(self, key: Any) -> bool:
        return key in vars(self)

    def __repr__(self) -> str:
        named = [f"{name}={value!r}" for name, value in vars(self).items() if name.isidentifier()]
        others = {name: value for name, value in vars(self).items() if not name.isidentifier()}
        return f"{type(self).__name__}({', '.join([*named, *([f'**{others!r}'] if others else [])])})"


# ---- Help ------------------------------------------------------------------------------------------------------


class HelpFormatter:
    def __init__(
        self, prog: str, indent_increment: int = 2, max_help_position: int = _COLUMN, width: Any = None
    ) -> None:
        self.prog, self.width = prog, width or _WIDTH
        self.column = min(max_help_position, max(self.width - 20, indent_increment * 2))

    def fill(self, text: str) -> str:
        return textwrap.fill(" ".join(text.split()), self.width)

    def split(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width)

    def help_of(self, action: Any) -> Any:
        return action.help

    def metavar_of(self, action: Any) -> Any:
        if action.metavar is not None:
            return action.metavar
        if action.choices is not None:
            return "{" + ",".join(map(str, action.choices)) + "}"
        return action.dest.upper() if action.option_strings else action.dest

    def arguments(self, action: Any) -> Any:
        name, nargs = self.metavar_of(action), action.nargs
        words = name if isinstance(name, tuple) else None
        first = words[0] if words else name
        if nargs is None:
            return first
        if nargs == OPTIONAL:
            return f"[{first}]"
        if nargs == ZERO_OR_MORE:
            return f"[{words[0]} [{words[1]} ...]]" if words and len(words) == 2 else f"[{first} ...]"
        if nargs == ONE_OR_MORE:
            return f"{first} [{words[-1] if words else first} ...]"
        if nargs == REMAINDER:
            return "..."
        if nargs == PARSER:
            return f"{first} ..."
        return " ".join(words or (name,) * nargs)

    def invocation(self, action: Any) -> str:
        if not action.option_strings:
            name = self.metavar_of(action)
            return name if isinstance(name, str) else " ".join(name)
        if action.nargs == 0:
            return ", ".join(action.option_strings)
        shown = self.arguments(action)
        return ", ".join(f"{each} {shown}" for each in action.option_strings)

    def usage(self, parser: Any) -> Any:
        if parser.usage is not None:
            return "usage: " + parser.usage.replace("%(prog)s", parser.prog) + "\n\n"
        shown = [each for each in parser._actions if each.help != SUPPRESS]
        options = self._parts([each for each in shown if each.option_strings], parser._exclusive)
        positionals = self._parts([each for each in shown if not each.option_strings], parser._exclusive)
        head = f"usage: {parser.prog}"
        whole = " ".join([head, *options, *positionals])
        if len(whole) <= self.width:
            return whole + "\n\n"
        indent = " " * (len(head) + 1)
        if len(head) <= 0.75 * self.width:
            if options:
                lines = self._lines([head, *options], indent) + self._lines([indent[:-1], *positionals], indent)
            else:
                lines = self._lines([head, *positionals], indent)
        else:
            indent = " " * 7
            wrapped = [self._lines([indent[:-1], *each], indent) for each in (options, positionals)]
            lines = [head, *wrapped[0], *wrapped[1]]
        return "\n".join(lines) + "\n\n"

    def _lines(self, parts: list[str], indent: str) -> list[str]:
        line, lines = parts[0], []
        for each in parts[1:]:
            if len(line) + 1 + len(each) > self.width and line.strip() and line != indent[:-1]:
                lines.append(line)
                line = indent[:-1]
            line += " " + each
        return [*lines, line] if len(parts) > 1 else []

    def _parts(self, actions: list[Any], exclusive: list[Any]) -> list[str]:
        parts: list[str] = []
        done: list[Any] = []
        for action in actions:
            if any(action is each for each in done):
                continue
            group = next((each for each in exclusive if any(action is inner for inner in each._group_actions)), None)
            if group is None:
                parts.append(self._part(action, action.required))
                continue
            members = [each for each in group._group_actions if each.help != SUPPRESS]
            done += members
            text = " | ".join(self._part(each, True, True) for each in members)
            several = f"({text})" if len(members) > 1 else text
            parts.append(several if group.required else f"[{text}]")
        return parts

    def _part(self, action: Any, required: bool, grouped: bool = False) -> Any:
        if not action.option_strings:
            text = self.arguments(action)
            return text[1:-1] if grouped and text[:1] == "[" else text
        first = action.option_strings[0]
        if isinstance(action, BooleanOptionalAction):
            text = " | ".join(action.option_strings)
        else:
            text = first if action.nargs == 0 else f"{first} {self.arguments(action)}"
        return text if required else f"[{text}]"

    def listing(self, title: str, description: Any, actions: list[Any], column: int) -> str:
        shown = [line for each in actions if each.help != SUPPRESS for line in self._entry(each, column, 2)]
        if not shown and not description:
            return ""
        text = "" if title in (None, SUPPRESS) else f"{title}:\n"
        if description:
            text += textwrap.indent(self.fill(description), "  ") + "\n" + ("\n" if shown else "")
        return text + "".join(line + "\n" for line in shown) + "\n"

    def _entry(self, action: Any, column: int, indent: int) -> list[str]:
        head = " " * indent + self.invocation(action)
        if not action.help:
            lines = [head]
        else:
            values = {**vars(action), "prog": self.prog}
            values = {name: each for name, each in values.items() if each is not SUPPRESS}
            if action.choices is not None:
                values["choices"] = ", ".join(map(str, action.choices))
            if action.type is not None:
                values["type"] = getattr(action.type, "__name__", action.type)
            text = self.split(self.help_of(action) % values, max(self.width - column, 11))
            if len(head) + 2 <= column:
                lines = [head.ljust(column) + (text[0] if text else ""), *[" " * column + each for each in text[1:]]]
            else:
                lines = [head, *[" " * column + each for each in text]]
        if isinstance(action, _SubParsersAction):
            lines += [line for each in action.listed for line in self._entry(each, column, indent + 2)]
        return lines

    def help(self, parser: Any) -> Any:
        text = self.usage(parser)
        if parser.description:
            text += self.fill(parser.description.replace("%(prog)s", parser.prog)) + "\n\n"
        widths = [2 + len(self.invocation(each)) for each in parser._actions if each.help != SUPPRESS]
        widths += [
            4 + len(self.invocation(inner))
            for each in parser._actions if isinstance(each, _SubParsersAction) for inner in each.listed
        ]  # fmt: skip
        column = min(max(widths, default=0) + 2, self.column)
        for group in parser._action_groups:
            text += self.listing(group.title, group.description, group._group_actions, column)
        if parser.epilog:
            text += self.fill(parser.epilog.replace("%(prog)s", parser.prog)) + "\n"
        return text.strip("\n") + "\n"


class RawDescriptionHelpFormatter(HelpFormatter):
    def fill(self, text: str) -> str:
        return text


class RawTextHelpFormatter(RawDescriptionHelpFormatter):
    def split(self, text: str, width: int) -> list[str]:
        return text.splitlines()


class ArgumentDefaultsHelpFormatter(HelpFormatter):
    def help_of(self, action: Any) -> str:
        text = action.help or ""
        asked = action.option_strings or action.nargs in (OPTIONAL, ZERO_OR_MORE)
        if asked and "%(default)" not in text and action.default is not SUPPRESS:
            text += " (default: %(default)s)"
        return text


class MetavarTypeHelpFormatter(HelpFormatter):
    def metavar_of(self, action: Any) -> Any:
        return action.metavar or (action.type.__name__ if action.type else super().metavar_of(action))


# ---- Actions ---------------------------------------------------------------------------------------------------


class Action:
    def __init__(
        self, option_strings: Any, dest: str, nargs: Any = None, const: Any = None, default: Any = None,
        type: Any = None, choices: Any = None, required: bool = False, help: Any = None, metavar: Any = None,
        **_options: Any,
    ) -> None:  # fmt: skip
        self.option_strings, self.dest, self.nargs, self.const = option_strings, dest, nargs, const
        self.default, self.type, self.choices = default, type, choices
        self.required, self.help, self.metavar = required, help, metavar

    def format_usage(self) -> Any:
        return self.option_strings[0]

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        raise NotImplementedError(".__call__() not defined")


class _Store(Action):
    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        setattr(namespace, self.dest, values)


class _StoreConst(Action):
    def __init__(self, option_strings: Any, dest: str, const: Any = None, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, const=const, **options)

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        setattr(namespace, self.dest, self.const)


class _StoreTrue(_StoreConst):
    def __init__(self, option_strings: Any, dest: str, default: Any = False, **options: Any) -> None:
        super().__init__(option_strings, dest, const=True, default=default, **options)


class _StoreFalse(_StoreConst):
    def __init__(self, option_strings: Any, dest: str, default: Any = True, **options: Any) -> None:
        super().__init__(option_strings, dest, const=False, default=default, **options)


def _items_of(namespace: Any, dest: str) -> list[Any]:
    return list(getattr(namespace, dest, None) or [])


class _Append(Action):
    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        setattr(namespace, self.dest, [*_items_of(namespace, self.dest), values])


class _AppendConst(_StoreConst):
    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        setattr(namespace, self.dest, [*_items_of(namespace, self.dest), self.const])


class _Extend(Action):
    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        setattr(namespace, self.dest, [*_items_of(namespace, self.dest), *values])


class _Count(_StoreConst):
    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        setattr(namespace, self.dest, (getattr(namespace, self.dest, None) or 0) + 1)


class _Help(_StoreConst):
    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        parser.print_help()
        parser.exit()


class _Version(_StoreConst):
    def __init__(self, option_strings: Any, dest: str, version: Any = None, **options: Any) -> None:
        options.setdefault("help", "show program's version number and exit")
        super().__init__(option_strings, dest, **{**options, "default": SUPPRESS})
        self.version = version

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        parser._print_message(str(self.version).replace("%(prog)s", parser.prog) + "\n", sys.stdout)
        parser.exit()


class BooleanOptionalAction(_StoreConst):
    def __init__(self, option_strings: Any, dest: str, **options: Any) -> None:
        names = []
        for each in option_strings:
            names.append(each)
            if each.startswith("--"):
                names.append("--no-" + each[2:])
        super().__init__(names, dest, **options)

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        setattr(namespace, self.dest, not option_string.startswith("--no-"))


class _Choice(Action):
    pass


class _SubParsersAction(Action):
    def __init__(self, option_strings: Any, dest: str, prog: str, parser_class: Any, **options: Any) -> None:
        self._prog, self._parser_class = prog, parser_class
        self.listed: list[Any] = []
        super().__init__(option_strings, dest, nargs=PARSER, choices={}, **options)

    def add_parser(self, name: str, *, aliases: Any = (), help: Any = None, **kwargs: Any) -> Any:
        kwargs.setdefault("prog", f"{self._prog} {name}")
        if name in self.choices:
            raise ArgumentError(self, f"conflicting subparser: {name}")
        made = self._parser_class(**kwargs)
        for each in (name, *aliases):
            self.choices[each] = made
        if help is not None:
            shown = f"{name} ({', '.join(aliases)})" if aliases else name
            self.listed.append(_Choice([], shown, help=help, metavar=shown))
        return made

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        name, *rest = values
        if self.dest is not SUPPRESS:
            setattr(namespace, self.dest, name)
        if name not in self.choices:
            listed = ", ".join(map(str, self.choices))
            raise ArgumentError(self, f"unknown parser {name!r} (choices: {listed})")
        found, extras = self.choices[name].parse_known_args(rest, None)
        for key, value in vars(found).items():
            setattr(namespace, key, value)
        parser._unrecognised += extras


_ACTIONS: dict[Any, Any] = {
    None: _Store, "store": _Store, "store_const": _StoreConst, "store_true": _StoreTrue, "store_false": _StoreFalse,
    "append": _Append, "append_const": _AppendConst, "extend": _Extend, "count": _Count, "help": _Help,
    "version": _Version,
}  # fmt: skip


# ---- Parsers ---------------------------------------------------------------------------------------------------


class _Group:
    def __init__(self, parser: Any, title: Any = None, description: Any = None) -> None:
        self._parser, self.title, self.description = parser, title, description
        self._group_actions: list[Any] = []

    def add_argument(self, *names: Any, **options: Any) -> Any:
        made = self._parser._add(names, options)
        self._group_actions.append(made)
        return made

    def add_mutually_exclusive_group(self, *, required: bool = False) -> Any:
        return self._parser._add_exclusive(self, required)


class _Exclusive(_Group):
    def __init__(self, parser: Any, container: Any, required: bool) -> None:
        super().__init__(parser)
        self._container, self.required = container, required

    def add_argument(self, *names: Any, **options: Any) -> Any:
        if self._container is None:
            made = self._parser.add_argument(*names, **options)
        else:
            made = self._container.add_argument(*names, **options)
        if made.required:
            raise ValueError("mutually exclusive arguments must be optional")
        self._group_actions.append(made)
        return made


class ArgumentParser:
    def __init__(
        self, prog: Any = None, usage: Any = None, description: Any = None, epilog: Any = None, parents: Any = (),
        formatter_class: Any = HelpFormatter, prefix_chars: str = "-", fromfile_prefix_chars: Any = None,
        argument_default: Any = None, conflict_handler: str = "error", add_help: bool = True, allow_abbrev: bool = True,
        exit_on_error: bool = True,
    ) -> None:  # fmt: skip
        if fromfile_prefix_chars is not None:
            raise ValueError("there are no files from which arguments could be read")
        self.prog, self.usage, self.description, self.epilog = prog or "cell", usage, description, epilog
        self.formatter_class, self.prefix_chars, self.argument_default = formatter_class, prefix_chars, argument_default
        self.conflict_handler, self.add_help, self.allow_abbrev = conflict_handler, add_help, allow_abbrev
        self.exit_on_error = exit_on_error
        self._actions: list[Any] = []
        self._named: dict[str, Any] = {}
        self._defaults: dict[str, Any] = {}
        self._exclusive: list[Any] = []
        self._unrecognised: list[str] = []
        self._subparsers: Any = None
        self._positionals = _Group(self, "positional arguments")
        self._optionals = _Group(self, "options")
        self._action_groups = [self._positionals, self._optionals]
        if add_help:
            dash = "-" if "-" in prefix_chars else prefix_chars[0]
            self.add_argument(
                dash + "h", dash * 2 + "help", action="help", default=SUPPRESS, help="show this help message and exit"
            )
        for parent in parents:
            self._adopt(parent)

    def _adopt(self, parent: Any) -> None:
        for group in parent._action_groups:
            into = self._positionals if group.title == "positional arguments" else self._optionals
            if group.title not in ("positional arguments", "options"):
                into = self.add_argument_group(group.title, group.description)
            for action in group._group_actions:
                self._actions.append(action)
                into._group_actions.append(action)
                for name in action.option_strings:
                    self._named[name] = action
        self._exclusive += parent._exclusive
        self._defaults.update(parent._defaults)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(prog={self.prog!r}, usage={self.usage!r}, description={self.description!r})"

    # ---- declaring

    def register(self, registry_name: str, value: Any, object: Any) -> None:
        raise NotImplementedError("pass the class itself as action=, or the function as type=")

    def set_defaults(self, **kwargs: Any) -> None:
        self._defaults.update(kwargs)
        for each in self._actions:
            if each.dest in kwargs:
                each.default = kwargs[each.dest]

    def get_default(self, dest: str) -> Any:
        for each in self._actions:
            if each.dest == dest and each.default is not None:
                return each.default
        return self._defaults.get(dest)

    def add_argument(self, *names: Any, **options: Any) -> Any:
        made = self._add(names, options)
        (self._optionals if made.option_strings else self._positionals)._group_actions.append(made)
        return made

    def _add(self, names: Any, options: Any) -> Any:
        options = dict(options)
        prefixes = tuple(self.prefix_chars)
        kind: Any = options.pop("action", None)
        kind = _ACTIONS.get(kind, kind) if kind is None or isinstance(kind, str) else kind
        if isinstance(kind, str):
            raise ValueError(f'unknown action "{kind}"')  # noqa: TRY004 - as argparse does
        if not names or (len(names) == 1 and not names[0].startswith(prefixes)):
            if names and "dest" in options:
                raise ValueError("dest supplied twice for positional argument")
            if "required" in options:
                raise TypeError("'required' is an invalid argument for positionals")
            strings: list[str] = []
            dest = names[0] if names else options.pop("dest")
            options["required"] = options.get("nargs") not in (OPTIONAL, ZERO_OR_MORE, REMAINDER)
            if options.get("nargs") == ZERO_OR_MORE and "default" in options:
                options["required"] = False
        else:
            for each in names:
                if not each.startswith(prefixes):
                    raise ValueError(
                        f"invalid option string {each!r}: must start with a character {self.prefix_chars!r}"
                    )
            strings = list(names)
            long = [each for each in names if len(each) > 1 and each[1] in self.prefix_chars]
            dest = options.pop("dest", None) or (long or names)[0].lstrip(self.prefix_chars).replace("-", "_")
        if "default" not in options and dest in self._defaults:
            options["default"] = self._defaults[dest]
        elif "default" not in options and self.argument_default is not None:
            options["default"] = self.argument_default
        if not callable(options.get("type") or str):
            raise ValueError(f"{options['type']!r} is not callable")  # noqa: TRY004 - as argparse does
        made: Any = kind(strings, dest, **options)
        for each in made.option_strings:
            if each in self._named:
                if self.conflict_handler != "resolve":
                    raise ArgumentError(made, f"conflicting option string: {each}")
                self._named[each].option_strings.remove(each)
            self._named[each] = made
        self._actions.append(made)
        return made

    def add_argument_group(self, title: Any = None, description: Any = None) -> Any:
        made = _Group(self, title, description)
        self._action_groups.append(made)
        return made

    def add_mutually_exclusive_group(self, *, required: bool = False) -> Any:
        return self._add_exclusive(None, required)

    def _add_exclusive(self, container: Any, required: bool) -> Any:
        made = _Exclusive(self, container, required)
        self._exclusive.append(made)
        return made

    def add_subparsers(
        self, *, title: Any = None, description: Any = None, prog: Any = None, parser_class: Any = None,
        dest: str = SUPPRESS, required: bool = False, help: Any = None, metavar: Any = None, **_options: Any,
    ) -> Any:  # fmt: skip
        if self._subparsers is not None:
            self.error("cannot have multiple subparser arguments")
        if prog is None:
            words = [HelpFormatter(self.prog).arguments(each) for each in self._actions if not each.option_strings]
            prog = " ".join([self.prog, *words])
        kind = parser_class or type(self)
        made = _SubParsersAction([], dest, prog, kind, required=required, help=help, metavar=metavar)
        self._subparsers = made
        self._actions.append(made)
        group = self._positionals
        if title is not None or description is not None:
            group = self.add_argument_group("subcommands" if title is None else title, description)
        group._group_actions.append(made)
        return made

    # ---- parsing

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, extras = self.parse_known_args(args, namespace)
        if extras:
            said = f"unrecognized arguments: {' '.join(extras)}"
            if self.exit_on_error:
                self.error(said)
            raise ArgumentError(None, said)
        return found

    parse_intermixed_args = parse_args

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        args = sys.argv[1:] if args is None else list(args)
        namespace = Namespace() if namespace is None else namespace
        for each in self._actions:
            if each.dest is not SUPPRESS and each.default is not SUPPRESS and not hasattr(namespace, each.dest):
                setattr(namespace, each.dest, each.default)
        for name, value in self._defaults.items():
            if not hasattr(namespace, name):
                setattr(namespace, name, value)
        if not self.exit_on_error:
            return namespace, self._parse(args, namespace)
        try:
            return namespace, self._parse(args, namespace)
        except ArgumentError as error:
            self.error(str(error))

    def _parse(self, args: list[str], namespace: Any) -> list[str]:
        self._unrecognised = []
        seen: list[Any] = []
        waiting = [each for each in self._actions if not each.option_strings]
        kinds = self._kinds(args)
        extras: list[str] = []
        at = 0
        while at < len(args) or waiting:
            at, ended = self._positional(args, kinds, at, waiting, namespace, seen)
            if at >= len(args):
                break
            if kinds[at] == "O":
                at = self._option(args, kinds, at, namespace, seen, extras)
            elif not ended:
                extras.append(args[at])
                at += 1
        self._finish(namespace, seen, waiting)
        return extras + self._unrecognised

    def _kinds(self, args: list[str]) -> str:
        kinds = ""
        for at, each in enumerate(args):
            if each == "--":
                return kinds + "-" + "A" * (len(args) - at - 1)
            kinds += "O" if self._is_option(each) else "A"
        return kinds

    def _is_option(self, arg: str) -> bool:
        if not arg or arg[0] not in self.prefix_chars or len(arg) == 1:
            return False
        if arg in self._named or arg.partition("=")[0] in self._named:
            return True
        if _NUMBER.fullmatch(arg) and not any(_NUMBER.fullmatch(name) for name in self._named):
            return False
        return " " not in arg

    def _positional(self, args: Any, kinds: str, at: int, waiting: Any, namespace: Any, seen: Any) -> Any:
        """Give the run of arguments at `at` to as many of the waiting positionals as it is enough for."""
        end = at
        while end < len(args) and kinds[end] != "O":
            end += 1
        last = end == len(args)
        run = [each for place, each in enumerate(args[at:end], at) if kinds[place] != "-"]
        counts: list[int] = []
        for number in range(len(waiting), 0, -1):
            found = self._shares([each.nargs for each in waiting[:number]], len(run))
            if found is not None:
                counts = found
                break
        ended = False
        taken = 0
        for action, count in zip(waiting[:], counts, strict=False):
            if action.nargs in (PARSER, REMAINDER) and (count or action.nargs == REMAINDER):
                values = [*run[taken:], *args[end:]]
                waiting.remove(action)
                self._take(action, values, None, namespace, seen)
                return len(args), True
            if count == 0 and not last and action.nargs in (OPTIONAL, ZERO_OR_MORE):
                break
            waiting.remove(action)
            self._take(action, run[taken : taken + count], None, namespace, seen)
            taken += count
            ended = True
        if taken == len(run):
            return end, ended or end > at
        skipped = at
        while taken:
            taken -= kinds[skipped] != "-"
            skipped += 1
        while skipped < end and kinds[skipped] == "-":
            skipped += 1
        return skipped, False

    def _shares(self, nargs: list[Any], count: int) -> Any:
        """How many of `count` arguments each gets, the first ones as many as possible; None if there are too few."""
        none = (OPTIONAL, ZERO_OR_MORE, REMAINDER)
        least = [each if isinstance(each, int) else int(each not in none) for each in nargs]
        left = count - sum(least)
        if left < 0:
            return None
        for place, each in enumerate(nargs):
            many = each in (ZERO_OR_MORE, ONE_OR_MORE, REMAINDER, PARSER)
            more = left if many else min(left, 1) if each == OPTIONAL else 0
            least[place] += more
            left -= more
        return least

    def _find(self, arg: str) -> Any:
        if arg in self._named:
            return self._named[arg], arg, None
        name, equals, value = arg.partition("=")
        if equals and name in self._named:
            return self._named[name], name, value
        if arg[1:2] in tuple(self.prefix_chars):
            near = [each for each in self._named if each.startswith(name)] if self.allow_abbrev else []
        else:
            short = self._named.get(arg[:2])
            near = [each for each in self._named if each.startswith(name) and each[1:2] not in tuple(self.prefix_chars)]
            if short is not None and not near:
                return short, arg[:2], arg[2:]
        if len(near) > 1:
            raise ArgumentError(None, f"ambiguous option: {arg} could match {', '.join(near)}")
        return (self._named[near[0]], near[0], value if equals else None) if near else (None, arg, None)

    def _option(self, args: Any, kinds: str, at: int, namespace: Any, seen: Any, extras: Any) -> Any:
        action, name, value = self._find(args[at])
        at += 1
        if action is None:
            extras.append(name)
            while at < len(args) and kinds[at] == "A" and not any(not each.option_strings for each in self._actions):
                extras.append(args[at])
                at += 1
            return at
        while value is not None and action.nargs == 0:
            if name[1:2] in tuple(self.prefix_chars) or not value:
                raise ArgumentError(action, f"ignored explicit argument {value!r}")
            self._take(action, [], name, namespace, seen)
            name = name[0] + value[0]
            if name not in self._named:
                raise ArgumentError(action, f"ignored explicit argument {value!r}")
            action, value = self._named[name], value[1:] or None
        if value is not None:
            if isinstance(action.nargs, int) and action.nargs != 1:
                raise ArgumentError(action, f"expected {action.nargs} arguments")
            self._take(action, [value.removeprefix("=") if len(name) == 2 else value], name, namespace, seen)
            return at
        end = at
        while end < len(args) and kinds[end] == "A":
            end += 1
        nargs = action.nargs
        if nargs == REMAINDER:
            end = len(args)
        counts = self._shares([nargs], end - at)
        if counts is None:
            said = {None: "expected one argument", ONE_OR_MORE: "expected at least one argument"}.get(nargs)
            raise ArgumentError(action, said or f"expected {nargs} argument{'s' if nargs != 1 else ''}")
        self._take(action, args[at : at + counts[0]], name, namespace, seen)
        return at + counts[0]

    def _take(self, action: Any, texts: list[str], name: Any, namespace: Any, seen: Any) -> None:
        nargs = action.nargs
        if not texts and nargs == OPTIONAL:
            value = action.const if action.option_strings else action.default
            value = self._converted(action, value) if isinstance(value, str) else value
        elif not texts and nargs == ZERO_OR_MORE and not action.option_strings:
            value = [] if action.default is None else action.default
        elif nargs in (None, OPTIONAL):
            value = self._checked(action, texts[0])
        elif nargs == PARSER:
            value = [self._checked(action, texts[0]), *texts[1:]]
        elif nargs == REMAINDER:
            value = list(texts)
        else:
            value = [self._checked(action, each) for each in texts]
        if texts or name is not None or not any(value is each for each in (action.default,)):
            self._exclude(action, seen)
            seen.append(action)
        action(self, namespace, value, name)

    def _exclude(self, action: Any, seen: Any) -> None:
        for group in self._exclusive:
            if any(action is each for each in group._group_actions):
                for other in group._group_actions:
                    if other is not action and any(other is each for each in seen):
                        raise ArgumentError(action, f"not allowed with argument {_name_of(other)}")

    def _checked(self, action: Any, text: str) -> Any:
        value = self._converted(action, text)
        if action.choices is not None and value not in action.choices:
            listed = ", ".join(map(repr, action.choices))
            raise ArgumentError(action, f"invalid choice: {value!r} (choose from {listed})")
        return value

    def _converted(self, action: Any, text: Any) -> Any:
        if action.type is None:
            return text
        try:
            return action.type(text)
        except ArgumentTypeError as error:
            raise ArgumentError(action, str(error)) from None
        except (TypeError, ValueError):
            named = getattr(action.type, "__name__", repr(action.type))
            raise ArgumentError(action, f"invalid {named} value: {text!r}") from None

    def _finish(self, namespace: Any, seen: Any, waiting: Any) -> None:
        missing = []
        for each in self._actions:
            if any(each is other for other in seen):
                continue
            if each.required and (each.option_strings or any(each is other for other in waiting)):
                missing.append(_name_of(each))
            elif isinstance(each.default, str) and getattr(namespace, each.dest, None) is each.default:
                setattr(namespace, each.dest, self._converted(each, each.default))
        if missing:
            raise ArgumentError(None, f"the following arguments are required: {', '.join(map(str, missing))}")
        for group in self._exclusive:
            if group.required and not any(each is other for each in group._group_actions for other in seen):
                names = " ".join(str(_name_of(each)) for each in group._group_actions if each.help is not SUPPRESS)
                raise ArgumentError(None, f"one of the arguments {names} is required")

    # ---- telling

    def format_usage(self) -> Any:
        return self.formatter_class(self.prog).usage(self).rstrip("\n") + "\n"

    def format_help(self) -> Any:
        return self.formatter_class(self.prog).help(self)

    def print_usage(self, file: Any = None) -> None:
        self._print_message(self.format_usage(), sys.stdout if file is None else file)

    def print_help(self, file: Any = None) -> None:
        self._print_message(self.format_help(), sys.stdout if file is None else file)

    def _print_message(self, message: Any, file: Any = None) -> None:
        if message:
            (sys.stderr if file is None else file).write(message)

    def exit(self, status: Any = 0, message: Any = None) -> None:
        if message:
            self._print_message(message, sys.stderr)
        sys.exit(status)

    def error(self, message: Any) -> Any:
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: error: {message}\n")
