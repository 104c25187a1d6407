"""logging: into the cell's stderr, or any stream that a cell has."""

from __future__ import annotations

import string
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

__all__ = [
    "BASIC_FORMAT",
    "CRITICAL",
    "DEBUG",
    "ERROR",
    "FATAL",
    "INFO",
    "NOTSET",
    "WARN",
    "WARNING",
    "BufferingFormatter",
    "Filter",
    "Formatter",
    "Handler",
    "LogRecord",
    "Logger",
    "LoggerAdapter",
    "NullHandler",
    "StreamHandler",
    "addLevelName",
    "basicConfig",
    "captureWarnings",
    "critical",
    "debug",
    "disable",
    "error",
    "exception",
    "fatal",
    "getLevelName",
    "getLevelNamesMapping",
    "getLogger",
    "getLoggerClass",
    "info",
    "lastResort",
    "log",
    "makeLogRecord",
    "raiseExceptions",
    "root",
    "setLoggerClass",
    "shutdown",
    "warn",
    "warning",
]  # fmt: skip
LEFT_OUT = {
    "FileHandler": "there are no files; use StreamHandler(io.StringIO())",
    "getLogRecordFactory setLogRecordFactory getHandlerByName getHandlerNames": "rarely used; write a Formatter",
    "handlers config": "not needed to write messages; use StreamHandler",
    "Manager PlaceHolder RootLogger PercentStyle StrFormatStyle StringTemplateStyle Template "
    "currentframe logThreads logMultiprocessing logProcesses logAsyncioTasks threading atexit io os re "
    "sys time traceback warnings weakref collections GenericAlias": "internal",
}

# Bound by the loader.
caller: Callable[[int], tuple[int, str]]

CRITICAL = FATAL = 50
ERROR = 40
WARNING = WARN = 30
INFO = 20
DEBUG = 10
NOTSET = 0
BASIC_FORMAT = "%(levelname)s:%(name)s:%(message)s"
raiseExceptions = True

_names = {50: "CRITICAL", 40: "ERROR", 30: "WARNING", 20: "INFO", 10: "DEBUG", 0: "NOTSET"}
_levels = {**{name: level for level, name in _names.items()}, "WARN": 30, "FATAL": 50}
_state = {"disabled": 0}
_started = time.time()


def getLevelName(level: Any) -> Any:
    if level in _names:
        return _names[level]
    return _levels.get(level, f"Level {level}")


def getLevelNamesMapping() -> dict[str, int]:
    return dict(_levels)


def addLevelName(level: int, levelName: str) -> None:
    _names[level] = levelName
    _levels[levelName] = level


def _level(level: Any) -> int:
    if isinstance(level, int):
        return level
    if not isinstance(level, str):
        raise TypeError(f"Level not an integer or a valid string: {level!r}")
    if level not in _levels:
        raise ValueError(f"Unknown level: {level!r}")
    return _levels[level]


class LogRecord:
    def __init__(
        self, name: str, level: int, pathname: str, lineno: int, msg: Any, args: Any, exc_info: Any,
        func: str | None = None, sinfo: Any = None,
    ) -> None:  # fmt: skip
        now = time.time()
        if len(args) == 1 and isinstance(args[0], dict) and args[0]:
            args = args[0]
        self.name, self.msg, self.args = name, msg, args
        self.levelname, self.levelno = getLevelName(level), level
        self.pathname = self.filename = pathname
        self.module = "cell"
        self.exc_info, self.exc_text, self.stack_info = exc_info, None, sinfo
        self.lineno, self.funcName = lineno, func
        self.created, self.msecs = now, float(int((now - int(now)) * 1000))
        self.relativeCreated = (now - _started) * 1000
        self.thread, self.threadName, self.process, self.processName = 1, "MainThread", 1, "MainProcess"
        self.taskName = None

    def getMessage(self) -> str:
        text = str(self.msg)
        return text % self.args if self.args else text

    def __repr__(self) -> str:
        return f"<LogRecord: {self.name}, {self.levelno}, {self.pathname}, {self.lineno}, {self.msg!r}>"


def makeLogRecord(values: dict[str, Any]) -> LogRecord:
    made = LogRecord("", 0, "", 0, "", (), None)
    for name, value in values.items():
        setattr(made, name, value)
    return made


class Formatter:
    default_time_format = "%Y-%m-%d %H:%M:%S"
    default_msec_format = "%s,%03d"

    def __init__(
        self, fmt: str | None = None, datefmt: str | None = None, style: str = "%", validate: bool = True, *,
        defaults: Any = None,
    ) -> None:  # fmt: skip
        plain = {"%": "%(message)s", "{": "{message}", "$": "${message}"}
        if style not in plain:
            raise ValueError("Style must be one of: %,{,$")
        self._fmt, self.datefmt, self._style, self._defaults = fmt or plain[style], datefmt, style, defaults or {}
        self._time = {"%": "%(asctime)", "{": "{asctime", "$": "$"}[style]

    def usesTime(self) -> bool:
        return "asctime" in self._fmt and self._time in self._fmt

    def formatTime(self, record: Any, datefmt: str | None = None) -> str:
        moment = time.localtime(record.created)
        if datefmt:
            return time.strftime(datefmt, moment)
        text = time.strftime(self.default_time_format, moment)
        return self.default_msec_format % (text, record.msecs) if self.default_msec_format else text

    def formatMessage(self, record: Any) -> str:
        values = {**self._defaults, **vars(record)}
        if self._style == "%":
            return self._fmt % values
        if self._style == "{":
            return self._fmt.format(**values)
        return string.Template(self._fmt).substitute(values)

    def formatException(self, ei: Any) -> str:
        return "".join(traceback.format_exception(ei[1])).rstrip("\n")

    def formatStack(self, stack_info: Any) -> Any:
        return stack_info

    def format(self, record: Any) -> str:
        record.message = record.getMessage()
        if self.usesTime():
            record.asctime = self.formatTime(record, self.datefmt)
        text = self.formatMessage(record)
        if record.exc_info and not record.exc_text:
            record.exc_text = self.formatException(record.exc_info)
        if record.exc_text:
            text = text.rstrip("\n") + "\n" + record.exc_text
        return text


class BufferingFormatter:
    def __init__(self, linefmt: Any = None) -> None:
        self.linefmt = linefmt or Formatter()

    def format(self, records: Any) -> str:
        return "".join([self.linefmt.format(each) for each in records])


class Filter:
    def __init__(self, name: str = "") -> None:
        self.name = name

    def filter(self, record: Any) -> Any:
        return not self.name or record.name == self.name or record.name.startswith(self.name + ".")


class _Filterer:
    def __init__(self) -> None:
        self.filters: list[Any] = []

    def addFilter(self, filter: Any) -> None:
        if filter not in self.filters:
            self.filters.append(filter)

    def removeFilter(self, filter: Any) -> None:
        if filter in self.filters:
            self.filters.remove(filter)

    def _passes(self, record: Any) -> bool:
        return all(each.filter(record) if hasattr(each, "filter") else each(record) for each in self.filters)

    def filter(self, record: Any) -> bool:
        return self._passes(record)


class Handler(_Filterer):
    def __init__(self, level: Any = NOTSET) -> None:
        super().__init__()
        self.level = _level(level)
        self.formatter: Any = None
        self.name: Any = None

    def set_name(self, name: Any) -> None:
        self.name = name

    def get_name(self) -> Any:
        return self.name

    def setLevel(self, level: Any) -> None:
        self.level = _level(level)

    def setFormatter(self, fmt: Any) -> None:
        self.formatter = fmt

    def format(self, record: Any) -> str:
        return (_plain if self.formatter is None else self.formatter).format(record)

    def emit(self, record: Any) -> None:
        raise NotImplementedError("emit must be implemented by Handler subclasses")

    def handle(self, record: Any) -> Any:
        passes = self.filter(record)
        if passes:
            self.emit(record)
        return passes

    def handleError(self, record: Any) -> None:
        sys.stderr.write("--- Logging error ---\n" + traceback.format_exc())

    def acquire(self) -> None:
        pass

    def release(self) -> None:
        pass

    def createLock(self) -> None:
        pass

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class StreamHandler(Handler):
    terminator = "\n"

    def __init__(self, stream: Any = None) -> None:
        super().__init__()
        self.stream = sys.stderr if stream is None else stream

    def setStream(self, stream: Any) -> Any:
        before, self.stream = self.stream, stream
        return before

    def flush(self) -> None:
        if hasattr(self.stream, "flush"):
            self.stream.flush()

    def emit(self, record: Any) -> None:
        try:
            text = self.format(record)
            self.stream.write(text + self.terminator)
            self.flush()
        except RecursionError:
            raise
        except Exception:
            self.handleError(record)


class NullHandler(Handler):
    def handle(self, record: Any) -> Any:
        pass

    def emit(self, record: Any) -> None:
        pass


class Logger(_Filterer):
    def __init__(self, name: str, level: Any = NOTSET) -> None:
        super().__init__()
        self.name = name
        self.level = _level(level)
        self.parent: Any = None
        self.propagate = True
        self.handlers: list[Any] = []
        self.disabled = False

    def setLevel(self, level: Any) -> None:
        self.level = _level(level)

    def getEffectiveLevel(self) -> int:
        at: Any = self
        while at is not None:
            if at.level:
                return at.level  # type: ignore[no-any-return]
            at = at.parent
        return NOTSET

    def isEnabledFor(self, level: int) -> bool:
        return not self.disabled and level > _state["disabled"] and level >= self.getEffectiveLevel()

    def getChild(self, suffix: str) -> Any:
        return getLogger(suffix if self is root else f"{self.name}.{suffix}")

    def addHandler(self, hdlr: Any) -> None:
        if hdlr not in self.handlers:
            self.handlers.append(hdlr)

    def removeHandler(self, hdlr: Any) -> None:
        if hdlr in self.handlers:
            self.handlers.remove(hdlr)

    def hasHandlers(self) -> bool:
        at: Any = self
        while at is not None:
            if at.handlers:
                return True
            at = at.parent if at.propagate else None
        return False

    def debug(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self.log(DEBUG, msg, *args, **kwargs)

    def info(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self.log(INFO, msg, *args, **kwargs)

    def warning(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self.log(WARNING, msg, *args, **kwargs)

    def warn(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self.log(WARNING, msg, *args, **kwargs)

    def error(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self.log(ERROR, msg, *args, **kwargs)

    def exception(self, msg: Any, *args: Any, exc_info: Any = True, **kwargs: Any) -> None:
        self.log(ERROR, msg, *args, exc_info=exc_info, **kwargs)

    def critical(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self.log(CRITICAL, msg, *args, **kwargs)

    def fatal(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self.log(CRITICAL, msg, *args, **kwargs)

    def log(
        self, level: int, msg: Any, *args: Any, exc_info: Any = None, stack_info: bool = False, stacklevel: int = 1,
        extra: Any = None,
    ) -> None:  # fmt: skip
        if not isinstance(level, int):
            raise TypeError("level must be an integer")
        if not self.isEnabledFor(level):
            return
        if exc_info and not isinstance(exc_info, tuple):
            exc_info = (type(exc_info), exc_info, None) if isinstance(exc_info, Exception) else sys.exc_info()
        if exc_info and exc_info[1] is None:
            exc_info = None
        line, function = caller(stacklevel)
        made = LogRecord(self.name, level, "<cell>", line, msg, args, exc_info, function)
        for name, value in (extra or {}).items():
            if name in ("message", "asctime") or hasattr(made, name):
                raise KeyError(f"Attempt to overwrite {name!r} in LogRecord")
            setattr(made, name, value)
        self.handle(made)

    def handle(self, record: Any) -> None:
        if not self.disabled and self.filter(record):
            self.callHandlers(record)

    def callHandlers(self, record: Any) -> None:
        found = 0
        at: Any = self
        while at is not None:
            for each in at.handlers:
                found += 1
                if record.levelno >= each.level:
                    each.handle(record)
            at = at.parent if at.propagate else None
        if not found and record.levelno >= lastResort.level:
            lastResort.handle(record)

    def __repr__(self) -> str:
        kind = "RootLogger" if self is root else type(self).__name__
        return f"<{kind} {self.name} ({getLevelName(self.getEffectiveLevel())})>"


class LoggerAdapter:
    def __init__(self, logger: Any, extra: Any = None, merge_extra: bool = False) -> None:
        self.logger, self.extra = logger, extra

    def process(self, msg: Any, kwargs: Any) -> Any:
        kwargs["extra"] = self.extra
        return msg, kwargs

    def log(self, level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
        if self.logger.isEnabledFor(level):
            msg, kwargs = self.process(msg, kwargs)
            self.logger.log(level, msg, *args, **kwargs)

    def debug(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self.log(DEBUG, msg, *args, **kwargs)

    def info(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self.log(INFO, msg, *args, **kwargs)

    def warning(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self.log(WARNING, msg, *args, **kwargs)

    def error(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self.log(ERROR, msg, *args, **kwargs)

    def exception(self, msg: Any, *args: Any, exc_info: Any = True, **kwargs: Any) -> None:
        self.log(ERROR, msg, *args, exc_info=exc_info, **kwargs)

    def critical(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self.log(CRITICAL, msg, *args, **kwargs)


_plain = Formatter()
lastResort = StreamHandler()
lastResort.setLevel(WARNING)
root = Logger("root", WARNING)
_loggers: dict[str, Any] = {}
_kind: list[Any] = [Logger]


def getLogger(name: str | None = None) -> Any:
    if not name or name == "root":
        return root
    if not isinstance(name, str):
        raise TypeError("A logger name must be a string")
    if name not in _loggers:
        made = _loggers[name] = _kind[0](name)
        for known, each in _loggers.items():  # the nearest of those above
            if name.startswith(known + "."):
                if made.parent is None or len(known) > len(made.parent.name):
                    made.parent = each
            elif known.startswith(name + ".") and (each.parent is root or len(each.parent.name) < len(name)):
                each.parent = made
        made.parent = made.parent or root
    return _loggers[name]


def getLoggerClass() -> Any:
    return _kind[0]


def setLoggerClass(klass: Any) -> None:
    if not issubclass(klass, Logger):
        raise TypeError(f"logger not derived from logging.Logger: {klass.__name__}")
    _kind[0] = klass


def basicConfig(**kwargs: Any) -> None:
    if kwargs.pop("force", False):
        root.handlers.clear()
    kwargs.pop("encoding", None)
    kwargs.pop("errors", None)
    if "filename" in kwargs:
        raise ValueError("there are no files to log to; leave filename out, and messages go to stderr")
    if root.handlers:
        return
    handlers, stream = kwargs.pop("handlers", None), kwargs.pop("stream", None)
    if handlers is not None and stream is not None:
        raise ValueError("'stream' or 'filename' should not be specified together with 'handlers'")
    style = kwargs.pop("style", "%")
    basic = {"{": "{levelname}:{name}:{message}", "$": "${levelname}:${name}:${message}"}.get(style, BASIC_FORMAT)
    made = Formatter(kwargs.pop("format", basic), kwargs.pop("datefmt", None), style)
    level = kwargs.pop("level", None)
    kwargs.pop("filemode", None)
    if kwargs:
        raise ValueError(f"Unrecognised argument(s): {', '.join(kwargs)}")
    for each in handlers or [StreamHandler(stream)]:
        if each.formatter is None:
            each.setFormatter(made)
        root.addHandler(each)
    if level is not None:
        root.setLevel(level)


def disable(level: Any = CRITICAL) -> None:
    _state["disabled"] = _level(level)


def captureWarnings(capture: bool) -> None:
    pass


def shutdown(handlerList: Any = None) -> None:
    pass


def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    if not root.handlers:
        basicConfig()
    root.log(level, msg, *args, **kwargs)


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    log(DEBUG, msg, *args, **kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    log(INFO, msg, *args, **kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    log(WARNING, msg, *args, **kwargs)


def warn(msg: Any, *args: Any, **kwargs: Any) -> None:
    log(WARNING, msg, *args, **kwargs)


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    log(ERROR, msg, *args, **kwargs)


def exception(msg: Any, *args: Any, exc_info: Any = True, **kwargs: Any) -> None:
    log(ERROR, msg, *args, exc_info=exc_info, **kwargs)


def critical(msg: Any, *args: Any, **kwargs: Any) -> None:
    log(CRITICAL, msg, *args, **kwargs)


def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    log(CRITICAL, msg, *args, **kwargs)
