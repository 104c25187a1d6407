"""Regular expressions for untrusted text: matched in time linear in the text.

`re` backtracks: it tries one path after another, and a text can be written for an expression so that there are
exponentially many. Here all paths are followed at the same time, one character after another, in the order of `re`,
and the matches are those of `re`. Look-around, back references, and atomic or possessive parts cannot be matched like
this, and are refused when the expression is compiled.
"""

from __future__ import annotations

import re
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]  # what `re` parses and compiles with
from typing import Any, Final

from rlm_secure.checks.steps import Steps

#: Most instructions of one expression: `x{1000}` has a thousand.
INSTRUCTIONS: Final = 10_000
#: Most levels of nested expressions.
_DEPTH: Final = 50
#: Instructions of states and transitions that are cached for an expression; above it, the cache is cleared. One
#: transition takes some 250 bytes, as long as the expression lives.
_HELD: Final = 20_000
#: Characters that cost one step where the transition is cached.
_KNOWN: Final = 16
#: Most characters between two calls of `steps`.
_PIECE: Final = 65_536

# Properties of the character on one side of a position in the text.
_EDGE, _NEWLINE, _LAST, _WORD, _ASCII_WORD, _EMPTY = 1, 2, 4, 8, 16, 32

_CHARACTER, _SPLIT, _PLACE, _MATCH, _NEVER = range(5)

_REFUSED: Final = {
    "ASSERT": "looks ahead or behind",
    "ASSERT_NOT": "looks ahead or behind",
    "GROUPREF": "refers back to a group",
    "GROUPREF_IGNORE": "refers back to a group",
    "GROUPREF_EXISTS": "asks whether a group matched",
    "POSSESSIVE_REPEAT": "has a possessive repetition",
    "ATOMIC_GROUP": "has an atomic group",
}


class PatternRefused(ValueError):
    """An expression is invalid, or cannot be matched in linear time. The message is a clause that says why."""


class Pattern:
    """A regular expression of `re` without look-around, back references, and atomic or possessive parts.

    Raises PatternRefused for any other, and for one of more than INSTRUCTIONS. Thread-safe.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        try:
            tree = _parser.parse(pattern)
            known: dict[tuple[int, int], re.Pattern[str]] = {}
            self._forward = _Program(tree, known, reverse=False)
            self._backward = _Program(tree, known, reverse=True)
        except re.error as error:
            raise PatternRefused(f"is no regular expression: {str(error)[:200]}") from None
        except (OverflowError, RecursionError) as error:
            reason = "is nested too deeply" if isinstance(error, RecursionError) else "repeats more often than can be"
            raise PatternRefused(f"is no regular expression that can be used: it {reason}") from None

    @property
    def repeats_nothing(self) -> bool:
        """Whether it repeats a part that may be empty, so that its matches may end elsewhere than those of `re`."""
        return self._forward.repeats_nothing

    def search(self, text: str, steps: Steps) -> bool:
        """Whether `re.search` finds it in `text`. Raises what `steps` raises."""
        program = self._forward
        state = program.begin(_EMPTY | _EDGE if not text else _EDGE, everywhere=True)
        whole = len(text) - 1
        for begin in range(0, whole, _PIECE):
            piece = text[begin : min(begin + _PIECE, whole)]
            steps.take(1 + len(piece) // _KNOWN)
            for character in piece:
                known = state.known.get(character)
                state, found = known if known is not None else program.step(state, character, steps)
                if found:
                    return True
        for symbol in _end_of(text):
            state, found = program.step(state, symbol, steps)
            if found:
                return True
        return False

    def sub(self, replacement: str, text: str, steps: Steps) -> str:
        """As `re.sub` with a literal replacement, unless `repeats_nothing`. Raises what `steps` raises."""
        if not self.search(text, steps):
            return text
        parts: list[str] = []
        starts = self._starts(text, steps)
        kept = place = 0
        fresh = False
        while (place := starts.find(1, place)) >= 0:
            end = self._end(text, place, fresh, steps)
            if end < 0:
                place, fresh = place + 1, False
                continue
            parts += (text[kept:place], replacement)
            # After an empty match, a non-empty one at the same position counts, or one at the next position.
            fresh = end == place
            kept = place = end
        return "".join([*parts, text[kept:]])

    def _starts(self, text: str, steps: Steps) -> bytearray:
        """For each position in the text, whether a match begins there: found from the end, in one pass."""
        program = self._backward
        starts = bytearray(len(text) + 1)
        state = program.begin(_EMPTY | _EDGE if not text else _EDGE, everywhere=True)
        for end in range(len(text), 0, -_PIECE):
            begin = max(0, end - _PIECE)
            steps.take(1 + (end - begin) // _KNOWN)
            for place in range(end, begin, -1):
                symbol = text[place - 1] if place < len(text) or text[-1] != "\n" else "\n$"
                known = state.known.get(symbol)
                state, found = known if known is not None else program.step(state, symbol, steps)
                starts[place] = found
        starts[0] = program.step(state, "", steps)[1]
        return starts

    def _end(self, text: str, place: int, fresh: bool, steps: Steps) -> int:
        """The end of the match that `re` prefers, of those that begin at `place`; -1 where there is none.

        With `fresh`, an empty match does not count.
        """
        program = self._forward
        before = _side(text[place - 1]) if place else _EDGE | (0 if text else _EMPTY)
        state = program.begin(before, everywhere=False, fresh=fresh)
        last, end = len(text) - 1, -1
        for index in range(place, last):
            if index % _KNOWN == 0:
                steps.take()
            known = state.known.get(text[index])
            state, found = known if known is not None else program.step(state, text[index], steps)
            if found:
                end = index
            if not state.threads:
                return end
        index = max(place, last)
        for symbol in _end_of(text)[index - max(0, last) :]:
            state, found = program.step(state, symbol, steps)
            if found:
                end = index
            index += 1
        return end


def _end_of(text: str) -> tuple[str, ...]:
    """The last two symbols of a text: its last character, and "" for the end. A final newline has its own symbol."""
    if not text:
        return ("",)
    return ("\n$" if text[-1] == "\n" else text[-1], "")


def _side(symbol: str) -> int:
    """The properties of a character that matter to the positions next to it; "" is no character."""
    if not symbol:
        return _EDGE
    if symbol[0] == "\n":
        return _NEWLINE | (_LAST if len(symbol) > 1 else 0)
    if symbol.isalnum() or symbol == "_":
        return _WORD | (_ASCII_WORD if symbol.isascii() else 0)
    return 0


class _State:
    """Instructions that wait for the next character, in the order in which `re` would try them."""

    __slots__ = ("before", "everywhere", "fresh", "known", "threads")

    def __init__(self, threads: tuple[int, ...], before: int, everywhere: bool, fresh: bool) -> None:
        self.threads = threads
        self.before = before
        self.everywhere = everywhere
        self.fresh = fresh
        #: For each character, the next state, and whether a match ends before the character.
        self.known: dict[str, tuple[_State, bool]] = {}


class _Program:
    """One expression as instructions, with the states that texts have reached so far.

    In reverse, it reads the text from its end. `known` caches compiled characters of `tree`, by the identity of their
    node: a set takes milliseconds to compile, and may be repeated thousands of times.
    """

    def __init__(self, tree: Any, known: dict[tuple[int, int], re.Pattern[str]], *, reverse: bool) -> None:
        self._reverse = reverse
        self._known = known
        #: Each is a kind, the next instruction, and an operand: a character, a position, or the other branch.
        self._code: list[tuple[int, int, Any]] = []
        self._states: dict[tuple[Any, ...], _State] = {}
        self._held = 0
        self.repeats_nothing = False
        end = self._emit(_MATCH)
        self._start = self._sequence(tree, tree.state.flags, end, 0)

    def begin(self, before: int, *, everywhere: bool, fresh: bool = False) -> _State:
        """The state before the first character. With `everywhere`, a match may begin at every position."""
        return self._state((self._start,), before, everywhere, fresh)

    def step(self, state: _State, symbol: str, steps: Steps) -> tuple[_State, bool]:
        """The state after `symbol`, and whether a match ends before it. "" is the end of the text."""
        after = _side(symbol) | (state.before & _EMPTY)
        waiting, found = self._closure(state, after, steps)
        character = symbol[:1]
        code = self._code
        threads = dict.fromkeys(code[each][1] for each in waiting if character and code[each][2].match(character))
        if state.everywhere:
            threads.setdefault(self._start)
        result = self._state(tuple(threads), after, state.everywhere, False), found
        self._held += 1
        state.known[symbol] = result
        return result

    def _closure(self, state: _State, after: int, steps: Steps) -> tuple[list[int], bool]:
        """The character instructions that the threads of `state` reach, preferred first, and whether one matches."""
        code = self._code
        waiting: list[int] = []
        seen: set[int] = set()
        todo = list(reversed(state.threads))
        before, found = state.before, False
        sides = (after, before) if self._reverse else (before, after)
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            kind, following, what = code[at]
            if kind == _CHARACTER:
                waiting.append(at)
            elif kind == _SPLIT:
                todo += (what, following)
            elif kind == _PLACE:
                if _holds(what, *sides):
                    todo.append(following)
            elif kind == _MATCH and not state.fresh:
                found = True
                if not state.everywhere:
                    break  # `re` would not try the threads after it
        steps.take(1 + len(seen) + len(waiting))
        return waiting, found

    def _state(self, threads: tuple[int, ...], before: int, everywhere: bool, fresh: bool) -> _State:
        if self._held > _HELD:
            self._states, self._held = {}, 0
        key = (threads, before, everywhere, fresh)
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = _State(threads, before, everywhere, fresh)
            self._held += 1 + len(threads)
        return state

    # -- instructions --------------------------------------------------------------------------------

    def _emit(self, kind: int, following: int = -1, what: Any = None) -> int:
        if len(self._code) >= INSTRUCTIONS:
            raise PatternRefused(f"takes more than {INSTRUCTIONS:,} steps for one character; repeat less often")
        self._code.append((kind, following, what))
        return len(self._code) - 1

    def _sequence(self, items: Any, flags: int, following: int, depth: int) -> int:
        """The first instruction of `items`, which lead to `following`."""
        if depth > _DEPTH:
            raise PatternRefused(f"is nested deeper than {_DEPTH}")
        for item in items if self._reverse else reversed(items):
            following = self._item(item, flags, following, depth + 1)
        return following

    def _item(self, item: Any, flags: int, following: int, depth: int) -> int:
        name, what = str(item[0]), item[1]
        if name in _REFUSED:
            raise PatternRefused(f"{_REFUSED[name]}, which takes more than linear time; write it without")
        if name in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            character = self._known.get((id(item), flags))
            if character is None:
                character = self._known[id(item), flags] = _one_character(item, flags)
            return self._emit(_CHARACTER, following, character)
        if name == "AT":
            return self._emit(_PLACE, following, _place(str(what), flags))
        if name == "FAILURE":
            return self._emit(_NEVER)
        if name == "BRANCH":
            begins = [self._sequence(each, flags, following, depth) for each in what[1]]
            first = begins.pop()
            while begins:
                first = self._emit(_SPLIT, begins.pop(), first)
            return first
        if name == "SUBPATTERN":
            _, added, removed, inner = what
            return self._sequence(inner, _compiler._combine_flags(flags, added, removed), following, depth)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            return self._repeat(what, name == "MIN_REPEAT", flags, following, depth)
        raise PatternRefused(f"has {name}, which nobody knows how to match in linear time")

    def _repeat(self, what: Any, lazy: bool, flags: int, following: int, depth: int) -> int:
        least, most, inner = what
        self.repeats_nothing |= most > 1 and inner.getwidth()[0] == 0
        begin = following
        if most is _constants.MAXREPEAT:
            # After each repetition, repeat or go on. An empty repetition goes on, as in `re`.
            more = self._emit(_SPLIT)
            again = self._sequence(inner, flags, more, depth)
            self._code[more] = (_SPLIT, *((following, again) if lazy else (again, following)))
            if least:
                least, begin = least - 1, again
            else:
                begin = self._emit(*self._code[more])
        else:
            for _ in range(most - least):
                again = self._sequence(inner, flags, begin, depth)
                begin = self._emit(_SPLIT, *((following, again) if lazy else (again, following)))
        for _ in range(least):
            following, begin = begin, self._sequence(inner, flags, begin, depth)
            if begin == following:
                break  # no instruction was added: the rest adds none either
        return begin


def _one_character(item: Any, flags: int) -> re.Pattern[str]:
    """The test of one character, as an expression that `re` itself matches with it."""
    state = _parser.State()
    state.flags = flags
    found: re.Pattern[str] = _compiler.compile(_parser.SubPattern(state, [item]), flags)
    return found


def _place(name: str, flags: int) -> tuple[str, bool]:
    """A position, and whether only ASCII characters count as words there."""
    if flags & re.MULTILINE:
        name = {"AT_BEGINNING": "AT_BEGINNING_LINE", "AT_END": "AT_END_LINE"}.get(name, name)
    return name, bool(flags & re.ASCII)


def _holds(place: tuple[str, bool], before: int, after: int) -> bool:
    name, ascii_only = place
    if name in ("AT_BOUNDARY", "AT_NON_BOUNDARY"):
        if before & _EMPTY:
            return False
        word = _ASCII_WORD if ascii_only else _WORD
        return (bool(before & word) != bool(after & word)) == (name == "AT_BOUNDARY")
    if name in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
        return bool(before & _EDGE)
    if name == "AT_BEGINNING_LINE":
        return bool(before & (_EDGE | _NEWLINE))
    if name == "AT_END":
        return bool(after & (_EDGE | _LAST))
    if name == "AT_END_LINE":
        return bool(after & (_EDGE | _NEWLINE))
    assert name == "AT_END_STRING", name
    return bool(after & _EDGE)
