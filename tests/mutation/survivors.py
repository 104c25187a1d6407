"""Changes that may survive, by file: each means nothing, or what it means is not to be seen from a test."""

from __future__ import annotations

_OF_LEASES = "nothing in this class: it is LeasedLedger's, and tests/scale/test_leases.py looks at it"
_SHORT_CUT = "a short cut for most frames: what stands below it finds the same"
_SHORT_CUT_SIZE = "a short cut for most texts: what stands below it finds the same"
_SIZE = "its size in memory alone"
_READ = "how much is read at once: what stands behind a frame is kept for the next"
_ENDLESS = "what was read from JSON is in no circle"
_ASKED = "a short cut for what was asked before: what stands below it finds the same"
_LEARNT = "a short cut for classes whose privates are the cell's: what stands below it opens the same"
_EXAMPLE = "any value makes an alias or a key of this type"
_TRUTH = "nobody asks more than whether it is true"
SURVIVORS: dict[str, dict[str, str]] = {
    "rlm_secure/broker/protocol.py": {
        '_encode: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", '
        '":")).encode: check_circular=False -> check_circular=True': _ENDLESS,
        "Findings = Mapping[str, tuple[str, str]]: Findings = Mapping[str, tuple[str, str]] -> nothing":
            "a name for annotations, which are not evaluated",
        "return os.urandom(8).hex(): 8 -> 9": "a longer one is as good",
        "if 4 * max(len(stdout), len(stderr)) > stdout_bytes:: 4 * max(len(stdout), len(stderr)) > stdout_bytes -> "
        "4 * max(len(stdout), len(stderr)) >= stdout_bytes": _SHORT_CUT_SIZE,
        "if 4 * max(len(stdout), len(stderr)) > stdout_bytes:: 4 -> 5": _SHORT_CUT_SIZE,
        "if 4 * max(len(stdout), len(stderr)) > stdout_bytes:: if 4 * max(len(stdout), len(stderr)) > "
        "stdout_bytes: stdout, cut_of_stdout = _kept(stdout, stdout_by -> if True: stdout, cut_of_stdout = "
        "_kept(stdout, stdout_bytes) stderr, cut_of_stderr = _kept(stderr, s": _SHORT_CUT_SIZE,
        "files={} if files == {} else file_sizes(files),: files={} if files == {} else file_sizes(files) -> "
        "files={} if False else file_sizes(files)": _SHORT_CUT_SIZE,
        "if 4 * len(text) <= most:: 4 * len(text) <= most -> 4 * len(text) < most": _SHORT_CUT_SIZE,
        "if 4 * len(text) <= most:: 4 -> 5": _SHORT_CUT_SIZE,
        "if 4 * len(text) <= most:: if 4 * len(text) <= most: return (text, 0) -> if False: return (text, 0)":
            _SHORT_CUT_SIZE,
        "return 4 * len(text) <= most or (len(text) <= most and len(text.encode()) <= most): 4 * len(text) <= most "
        "-> 4 * len(text) < most": _SHORT_CUT_SIZE,
        "return 4 * len(text) <= most or (len(text) <= most and len(text.encode()) <= most): 4 * len(text) <= most "
        "or (len(text) <= most and len(text.encode()) <= most) -> len(text) <= most and len(text.encode()) <= most":
            _SHORT_CUT_SIZE,
        "return 4 * len(text) <= most or (len(text) <= most and len(text.encode()) <= most): 4 -> 5": _SHORT_CUT_SIZE,
        "return 4 * len(text) <= most or (len(text) <= most and len(text.encode()) <= most): len(text) <= most and "
        "len(text.encode()) <= most -> len(text.encode()) <= most": _SHORT_CUT_SIZE,
        "if (: if value is None or kind is bool or kind is float or (kind is int and value.bit_length() <= 3 * "
        "most -> if False: return 0": _SHORT_CUT_SIZE,
        "value is None: value is None or kind is bool or kind is float or (kind is int and value.bit_length() <= 3 "
        "* most -  -> kind is bool or kind is float or (kind is int and value.bit_length() <= 3 * most - 6) or "
        "(kind is st": _SHORT_CUT_SIZE,
        "value is None: value is None or kind is bool or kind is float or (kind is int and value.bit_length() <= 3 "
        "* most -  -> value is None and kind is bool and (kind is float) and (kind is int and value.bit_length() "
        "<= 3 * mo": _SHORT_CUT_SIZE,
        "value is None: value is None or kind is bool or kind is float or (kind is int and value.bit_length() <= 3 "
        "* most -  -> value is None or kind is bool or (kind is int and value.bit_length() <= 3 * most - 6) or "
        "(kind is st": _SHORT_CUT_SIZE,
        "value is None: value is None or kind is bool or kind is float or (kind is int and value.bit_length() <= 3 "
        "* most -  -> value is None or kind is bool or kind is float or (kind is int and value.bit_length() <= 3 * "
        "most - ": _SHORT_CUT_SIZE,
        "value is None: value is None or kind is bool or kind is float or (kind is int and value.bit_length() <= 3 "
        "* most -  -> value is None or kind is bool or kind is float or (kind is str and 6 * len(value) + 2 <= "
        "most)": _SHORT_CUT_SIZE,
        "value is None: value is None or kind is bool or kind is float or (kind is int and value.bit_length() <= 3 "
        "* most -  -> value is None or kind is float or (kind is int and value.bit_length() <= 3 * most - 6) or "
        "(kind is s": _SHORT_CUT_SIZE,
        "or (kind is int and value.bit_length() <= 3 * most - 6): 3 * most -> 3 + most": _SHORT_CUT_SIZE,
        "or (kind is int and value.bit_length() <= 3 * most - 6): 6 -> 7": _SHORT_CUT_SIZE,
        "or (kind is int and value.bit_length() <= 3 * most - 6): value.bit_length() <= 3 * most - 6 -> "
        "value.bit_length() < 3 * most - 6": _SHORT_CUT_SIZE,
        "or (kind is str and 6 * len(value) + 2 <= most): 2 -> 3": _SHORT_CUT_SIZE,
        "or (kind is str and 6 * len(value) + 2 <= most): 6 * len(value) + 2 <= most -> 6 * len(value) + 2 < most":
            _SHORT_CUT_SIZE,
        "or (kind is str and 6 * len(value) + 2 <= most): 6 -> 7": _SHORT_CUT_SIZE,
        "return 0: 0 -> 1": "any number within the bound says the same",
        "if not names:: if not names: return () -> if False: return ()": _SHORT_CUT_SIZE,
        "if not isinstance(shown, str) or (shown and not _fits(shown, value_bytes)):: shown and (not _fits(shown, "
        "value_bytes)) -> not _fits(shown, value_bytes)": _SHORT_CUT_SIZE,
        "if has_value and (size := _size(value, value_bytes)) > value_bytes:: has_value and (size := _size(value, "
        "value_bytes)) > value_bytes -> (size := _size(value, value_bytes)) > value_bytes": "no value has no size",
        'return Variable(kind, value, has_value, shown, whole, least, inert_line(why) if why else ""), cut: '
        "inert_line(why) if why else '' -> inert_line(why) if True else ''": _SHORT_CUT_SIZE,
    },
    "rlm_secure/guest/language/attributes.py": {
        'if type(value) is str and name == "format" and formatting.is_known_public(value):: if type(value) is str '
        "and name == 'format' and formatting.is_known_public(value): return value.forma -> if False: return "
        "value.format": _ASKED,
        "if classes.kept(kind, name):: if classes.kept(kind, name): classes.refuse_store(kind, name) -> if False: "
        "classes.refuse_store(kind, name)": "the proxy that private() gives for it refuses a store as well",
        "classes.refuse_store(kind, name): classes.refuse_store(kind, name) -> nothing":
            "the proxy that private() gives for it refuses a store as well",
        "if self._learn(kind):: if self._learn(kind): return value -> if False: return value": _LEARNT,
        "if kind not in self._judged:: if kind not in self._judged: self._judged.add(kind) if own_class(kind) and "
        "classes.has_no_foreign_pr -> if False: self._judged.add(kind) if own_class(kind) and "
        "classes.has_no_foreign_privates(kind): self.": _LEARNT,
        "if kind not in self._judged:: if kind not in self._judged: self._judged.add(kind) if own_class(kind) and "
        "classes.has_no_foreign_pr -> if True: self._judged.add(kind) if own_class(kind) and "
        "classes.has_no_foreign_privates(kind): self.k": _LEARNT,
        "if kind not in self._judged:: kind not in self._judged -> kind in self._judged": _LEARNT,
        "self._judged.add(kind): self._judged.add(kind) -> nothing": _LEARNT,
        "if own_class(kind) and classes.has_no_foreign_privates(kind):: if own_class(kind) and "
        "classes.has_no_foreign_privates(kind): self.known.add(kind) return True -> if False: self.known.add(kind) "
        "return True": _LEARNT,
        "self.known.add(kind): self.known.add(kind) -> nothing": _LEARNT,
        "_learn: return True: True -> False": _LEARNT,
        "_learn: return True: return True -> return None": _LEARNT,
        "_learn: return False: return False -> return None": _TRUTH,
        "if kind in self.known or own_class(kind) or self._own_function(value):: kind in self.known or "
        "own_class(kind) or self._own_function(value) -> own_class(kind) or self._own_function(value)": _ASKED,
        "return SignalsOf(value) if name in names.OF_CONTEXTS and kind is decimal.Context else value: name in "
        "names.OF_CONTEXTS and kind is decimal.Context -> name in names.OF_CONTEXTS":
            "the only other class that is writable is known, and was given above",
        "elif name in _LISTED and own_class(_subject(value)):: name in _LISTED and own_class(_subject(value)) -> "
        "own_class(_subject(value))": "no class of a cell stores one of the other names that come so far",
        "__slots__ = (\"_target\",): __slots__ = ('_target',) -> nothing": _SIZE,
        'setattr(self._target, name, None if name == "__doc__" and text is None else exact(text)): name == '
        "'__doc__' and text is None -> text is None": "the interpreter takes None for no other of these names",
        "__slots__ = (\"_guard\", \"_value\"): __slots__ = ('_guard', '_value') -> nothing": _SIZE,
        "list[int], typing.List[int], int | str, typing.Union[int, str], typing.Literal[1],  # noqa: UP006, UP007: "
        "1 -> 2": _EXAMPLE,
        "typing.Annotated[int, 1], typing.Callable[[int], str], Callable[[int], str],: 1 -> 2": _EXAMPLE,
        "_ANNOTATED = type(typing.Annotated[int, 1]): 1 -> 2": _EXAMPLE,
        "if name == \"__args__\" or (name == \"__metadata__\" and kind is _ANNOTATED):: name == '__metadata__' and "
        "kind is _ANNOTATED -> kind is _ANNOTATED": "the origin of an annotated type is what get_args() gives first",
        "if name == \"__origin__\" and kind is _ANNOTATED:: name == '__origin__' and kind is _ANNOTATED -> kind is "
        "_ANNOTATED": "its other names were answered above",
        "_passed: return False: return False -> return None": _TRUTH,
        "if type(name) is str:: if type(name) is str: return name -> if False: return name": _SHORT_CUT_SIZE,
        "if found is None or type(found) is str:: found is None or type(found) is str -> found is None":
            _SHORT_CUT_SIZE,
        "if owner not in (re.Pattern, re.Match):: if owner not in (re.Pattern, re.Match): return found -> if "
        "False: return found": "no other method in C that cells reach has one of these names",
        "_WITH_OBJ = (types.SimpleNamespace, type(functools.cmp_to_key(lambda _one, _other: 0)(None))): 0 -> 1":
            _EXAMPLE,
        "_holds_its_obj: return False: return False -> return None": _TRUTH,
    },
    "rlm_secure/guest/language/guards.py": {
        '__all__ = ["VALUE", "RuleViolation", "build_globals", "files", "has_files", "is_internal"]: __all__ = '
        "['VALUE', 'RuleViolation', 'build_globals', 'files', 'has_files', 'is_internal'] -> nothing":
            "nobody imports all of this module",
        "space[names.FILES] = True: True -> False": "its name alone is looked for",
        "if options or redirections:: if options or redirections: print_with(*values, **options) else: "
        "print_(*values) -> if True: print_with(*values, **options) else: print_(*values)":
            "a short cut for print() without keywords: what stands beside it prints the same",
        "if type(name) is str and name in askable:: if type(name) is str and name in askable: return "
        "read_native(value, name, *default) -> if False: return read_native(value, name, *default)": _ASKED,
        "if type(name) is str and name in askable:: if type(name) is str and name in askable: return "
        "builtins.hasattr(value, name) -> if False: return builtins.hasattr(value, name)": _ASKED,
        "if type(name) is str and name in askable and type(value) in known:: if type(name) is str and name in "
        "askable and (type(value) in known): builtins.setattr(value, name, t -> if False: builtins.setattr(value, "
        "name, to) return": _ASKED,
        "return value if type(value) in known else store(value, name): value if type(value) in known else "
        "store(value, name) -> value if False else store(value, name)": _ASKED,
        "return kind if kind in kinds else seen_by_guard(kind): kind if kind in kinds else seen_by_guard(kind) -> "
        "kind if False else seen_by_guard(kind)": _ASKED,
        "return found if type(found) is str else attributes.text(found, name): found if type(found) is str else "
        "attributes.text(found, name) -> found if False else attributes.text(found, name)": _SHORT_CUT_SIZE,
        "return {name: value for name, value in found if type(name) is str and (not is_internal(name) or name == "
        "\"__name__\")}: type(name) is str and (not is_internal(name) or name == '__name__') -> not "
        "is_internal(name) or name == '__name__'": "a second look: variables of cells have names that are text",
        "__slots__ = (\"_space\",): __slots__ = ('_space',) -> nothing": _SIZE,
    },
    "rlm_secure/guest/wire.py": {
        "if raw.count(b\"[\") + raw.count(b\"{\") <= MAX_DEPTH and not _has_long_number(raw):: if raw.count(b'[') "
        "+ raw.count(b'{') <= MAX_DEPTH and (not _has_long_number(raw)): return -> if False: return": _SHORT_CUT,
        "if raw.count(b\"[\") + raw.count(b\"{\") <= MAX_DEPTH and not _has_long_number(raw):: raw.count(b'[') + "
        "raw.count(b'{') <= MAX_DEPTH -> raw.count(b'[') + raw.count(b'{') < MAX_DEPTH": _SHORT_CUT,
        "if max(accumulate(steps), default=0) > MAX_DEPTH:: default=0 -> default=1":
            "bytes without brackets: either is below the bound",
        "return len(raw) > MAX_DIGITS and _TOO_LONG in raw.translate(_DIGITS_ALIKE): len(raw) > MAX_DIGITS -> "
        "len(raw) >= MAX_DIGITS": _SHORT_CUT,
        "return len(raw) > MAX_DIGITS and _TOO_LONG in raw.translate(_DIGITS_ALIKE): len(raw) > MAX_DIGITS and "
        "_TOO_LONG in raw.translate(_DIGITS_ALIKE) -> _TOO_LONG in raw.translate(_DIGITS_ALIKE)": _SHORT_CUT,
        'return "".join(_in_c(message, 0)): 0 -> 1': "the level of an indentation that there is not",
        "__slots__ = (\"_buffer\", \"_fds\", \"_socket\", \"nonce\"): __slots__ = ('_buffer', '_fds', '_socket', "
        "'nonce') -> nothing": _SIZE,
        "chunk, ancillary, _flags, _address = self._socket.recvmsg(max(65536, size - len(buffer)), 64): 64 -> 65":
            _READ,
        "chunk, ancillary, _flags, _address = self._socket.recvmsg(max(65536, size - len(buffer)), 64): 65536 -> "
        "65537": _READ,
        "chunk, ancillary, _flags, _address = self._socket.recvmsg(max(65536, size - len(buffer)), 64): size - "
        "len(buffer) -> size + len(buffer)": _READ,
        "if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:: level == _socket.SOL_SOCKET and kind == "
        "_socket.SCM_RIGHTS -> kind == _socket.SCM_RIGHTS":
            "the sockets of workers have ancillary data of this level only",
    },
    "rlm_secure/policy/gate.py": {
        "close = difflib.get_close_matches(name[:200], allowed, 1): 1 -> 2": "the first of one or two: the closest",
        "close = difflib.get_close_matches(name[:200], allowed, 1): 200 -> 201":
            "where a long name is cut before it is compared: no allowed one is as long",
        "if len(text) * 4 <= limit:: 4 -> 5": _SHORT_CUT_SIZE,
        "if len(text) * 4 <= limit:: if len(text) * 4 <= limit: return None -> if False: return None":
            _SHORT_CUT_SIZE,
        "if len(text) * 4 <= limit:: len(text) * 4 <= limit -> len(text) * 4 < limit": _SHORT_CUT_SIZE,
    },
    "rlm_secure/rlm/budget.py": {
        "__slots__ = (\"_ledger\", \"cost_usd\", \"ended\", \"tokens\"): __slots__ = ('_ledger', 'cost_usd', "
        "'ended', 'tokens') -> nothing": _SIZE,
        "self._refund(reservation, input_tokens + output_tokens, cost_usd): input_tokens + output_tokens -> "
        "input_tokens - output_tokens": _OF_LEASES,
        "self._refund(reservation, input_tokens + output_tokens, cost_usd): self._refund(reservation, input_tokens "
        "+ output_tokens, cost_usd) -> nothing": _OF_LEASES,
    },
    "rlm_secure/scale/leases.py": {
        "if need.bounded and over:: need.bounded and over -> need.bounded":
            "where nobody holds anything, check_rest() has refused a rest without calls or tokens: only a cost is "
            "over",
    },
    "rlm_secure/untrusted_json.py": {
        "if b\"\\\\ud\" in raw or b\"\\\\uD\" in raw or isinstance(data, str):: if b'\\\\ud' in raw or b'\\\\uD' "
        "in raw or isinstance(data, str): try: value = encodable(value) except V -> if True: try: value = "
        "encodable(value) except ValueError: raise MalformedJson('it repeats a key') fr":
            "a short cut: a value without half a pair is what it was",
        "except (ValueError, RecursionError, MemoryError) as error:: except (ValueError, RecursionError, "
        "MemoryError) as error: raise MalformedJson(f'not JSON: {type(err -> except (ValueError, MemoryError) as "
        "error: raise MalformedJson(f'not JSON: {type(error).__name__}') ":
            "the bounds before it leave it neither: for a thread whose stack, or a machine whose memory, is nearly "
            "full",
        "except (ValueError, RecursionError, MemoryError) as error:: except (ValueError, RecursionError, "
        "MemoryError) as error: raise MalformedJson(f'not JSON: {type(err -> except (ValueError, RecursionError) "
        "as error: raise MalformedJson(f'not JSON: {type(error).__name__}":
            "the bounds before it leave it neither: for a thread whose stack, or a machine whose memory, is nearly "
            "full",
        'if opened <= depth and opened + raw.count(b",") <= nodes and not _has_long_number(raw):: if opened <= '
        "depth and opened + raw.count(b',') <= nodes and (not _has_long_number(raw)): return -> if False: return":
            _SHORT_CUT,
        'if opened <= depth and opened + raw.count(b",") <= nodes and not _has_long_number(raw):: opened + '
        "raw.count(b',') <= nodes -> opened + raw.count(b',') < nodes": _SHORT_CUT,
        'if opened <= depth and opened + raw.count(b",") <= nodes and not _has_long_number(raw):: opened <= depth '
        "-> opened < depth": _SHORT_CUT,
        "return len(raw) > MAX_DIGITS and _TOO_LONG in raw.translate(_DIGITS_ALIKE): len(raw) > MAX_DIGITS -> "
        "len(raw) >= MAX_DIGITS": _SHORT_CUT,
        "return len(raw) > MAX_DIGITS and _TOO_LONG in raw.translate(_DIGITS_ALIKE): len(raw) > MAX_DIGITS and "
        "_TOO_LONG in raw.translate(_DIGITS_ALIKE) -> _TOO_LONG in raw.translate(_DIGITS_ALIKE)": _SHORT_CUT,
        'return max(accumulate(memoryview(bare.translate(_STEPS, _NOT_BRACKETS)).cast("b")), default=0): default=0 '
        "-> default=1": "bytes without brackets: either is below the bound",
    },
}
