"""html.parser: a tokenizer of HTML that calls a method for each tag and each piece of text."""

from __future__ import annotations

from html import unescape
from typing import Any

__all__ = ["HTMLParser"]
LEFT_OUT = {"CDATA_CONTENT_ELEMENTS RCDATA_CONTENT_ELEMENTS": "internal"}

_SPACE = " \t\n\r\f"
_AFTER_NAME = _SPACE + "/>"
_REFERENCE = 34  # characters of the longest name of a character


def _end_of(text: str, at: int, ends: str) -> int:
    while at < len(text) and text[at] not in ends:
        at += 1
    return at


def _skip(text: str, at: int, skipped: str) -> int:
    while at < len(text) and text[at] in skipped:
        at += 1
    return at


class HTMLParser:
    CDATA_CONTENT_ELEMENTS = ("script", "style")

    def __init__(self, *, convert_charrefs: bool = True, scripting: bool = False) -> None:
        self.convert_charrefs = convert_charrefs
        self.reset()

    def reset(self) -> None:
        self.rawdata = ""
        self.lasttag = "???"
        self.cdata_elem: Any = None
        self.lineno, self.offset = 1, 0
        self.__tag_text: Any = None

    def feed(self, data: str) -> None:
        self.rawdata += data
        self.__go(False)

    def close(self) -> None:
        self.__go(True)

    def getpos(self) -> tuple[int, int]:
        return self.lineno, self.offset

    def get_starttag_text(self) -> Any:
        return self.__tag_text

    def __passed(self, start: int, end: int) -> int:
        text = self.rawdata[start:end]
        lines = text.count("\n")
        if lines:
            self.lineno += lines
            self.offset = len(text) - text.rindex("\n") - 1
        else:
            self.offset += len(text)
        return end

    def __go(self, last: bool) -> None:
        at, text = 0, self.rawdata
        lowered = text.lower() if "</" in text else text
        while at < len(text):
            end = self.__end_of_text(at, lowered, last)
            if end < 0:
                break
            if end > at:
                self.__text(text[at:end])
                at = self.__passed(at, end)
            if at == len(text):
                break
            end = self.__markup(at, last)
            if end < 0 and not last:
                break
            if end < 0:
                end = text.find("<", at + 1)
                end = len(text) if end < 0 else end
                self.__text(text[at:end])
            at = self.__passed(at, end)
        self.rawdata = text[at:]

    def __end_of_text(self, at: int, lowered: str, last: bool) -> int:
        text = self.rawdata
        if self.cdata_elem is not None:
            end = lowered.find("</" + self.cdata_elem, at)
            return end if end >= 0 else len(text) if last else -1
        end = text.find("<", at)
        if end >= 0:
            return end
        mark = text.rfind("&", max(at, len(text) - _REFERENCE))
        if mark >= 0 and not last and not any(each in text[mark:] for each in _SPACE + ";"):
            return mark if mark > at and not self.convert_charrefs else -1
        return len(text)

    def __text(self, text: str) -> None:
        if self.cdata_elem is not None:
            self.handle_data(text)
        elif self.convert_charrefs:
            self.handle_data(unescape(text))
        else:
            self.__references(text)

    def __references(self, text: str) -> None:
        at = 0
        while at < len(text):
            mark = text.find("&", at)
            mark = len(text) if mark < 0 else mark
            if mark > at:
                self.handle_data(text[at:mark])
            if mark == len(text):
                return
            start = mark + (2 if text[mark + 1 : mark + 2] == "#" else 1)
            at = start
            while at < len(text) and text[at].isascii() and text[at].isalnum():
                at += 1
            if at == start:
                self.handle_data(text[mark:at])
                continue
            handle = self.handle_charref if start == mark + 2 else self.handle_entityref
            handle(text[start:at])
            at += text[at : at + 1] == ";"

    def __markup(self, at: int, last: bool) -> int:
        text = self.rawdata
        after = text[at + 1 : at + 2]
        if after.isascii() and after.isalpha():
            return self.__start_tag(at)
        if after == "/":
            return self.__end_tag(at)
        if text.startswith("<!--", at):
            return self.__until("-->", at, 4, self.handle_comment)
        if after == "?":
            return self.__until(">", at, 2, self.handle_pi)
        if text.startswith("<![", at):
            end = self.__until("]]>" if text.startswith("<![CDATA[", at) else "]>", at, 3, self.unknown_decl)
            return end if end >= 0 else self.__until(">", at, 3, self.unknown_decl)
        if after == "!":
            is_decl = text[at + 2 : at + 9].lower() == "doctype"
            return self.__until(">", at, 2, self.handle_decl if is_decl else self.handle_comment)
        if not after:
            return -1
        self.__text("<")
        return at + 1

    def __until(self, mark: str, at: int, skipped: int, handle: Any) -> int:
        end = self.rawdata.find(mark, at + skipped)
        if end < 0:
            return -1
        handle(self.rawdata[at + skipped : end])
        return end + len(mark)

    def __end_tag(self, at: int) -> int:
        text = self.rawdata
        end = text.find(">", at)
        if end < 0:
            return -1
        first = text[at + 2]
        if not (first.isascii() and first.isalpha()):
            if end > at + 2:
                self.handle_comment(text[at + 2 : end])
            return end + 1
        tag = text[at + 2 : _end_of(text, at + 2, _AFTER_NAME)].lower()
        self.clear_cdata_mode()
        self.handle_endtag(tag)
        return end + 1

    def __start_tag(self, at: int) -> int:
        text = self.rawdata
        end = _end_of(text, at + 1, _AFTER_NAME)
        tag = text[at + 1 : end].lower()
        attrs: list[tuple[str, Any]] = []
        while True:
            end = _skip(text, end, _SPACE + "/")
            if end >= len(text):
                return -1
            if text[end] == ">":
                break
            start = end
            end = _end_of(text, end + 1, _AFTER_NAME + "=")
            name, value = text[start:end].lower(), None
            equals = _skip(text, end, _SPACE)
            if text[equals : equals + 1] == "=":
                start = _skip(text, equals + 1, _SPACE)
                quote = text[start : start + 1]
                if quote and quote in "'\"":
                    end = text.find(quote, start + 1)
                    if end < 0:
                        return -1
                    value = unescape(text[start + 1 : end])
                    end += 1
                else:
                    end = _end_of(text, start, _SPACE + ">")
                    value = unescape(text[start:end])
            attrs.append((name, value))
        self.__tag_text = text[at : end + 1]
        self.lasttag = tag
        if text[end - 1] == "/":
            self.handle_startendtag(tag, attrs)
        else:
            self.handle_starttag(tag, attrs)
            if tag in self.CDATA_CONTENT_ELEMENTS:
                self.set_cdata_mode(tag)
        return end + 1

    def set_cdata_mode(self, elem: str) -> None:
        self.cdata_elem = elem.lower()

    def clear_cdata_mode(self) -> None:
        self.cdata_elem = None

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        pass

    def handle_data(self, data: str) -> None:
        pass

    def handle_charref(self, name: str) -> None:
        pass

    def handle_entityref(self, name: str) -> None:
        pass

    def handle_comment(self, data: str) -> None:
        pass

    def handle_decl(self, decl: str) -> None:
        pass

    def handle_pi(self, data: str) -> None:
        pass

    def unknown_decl(self, data: str) -> None:
        pass
