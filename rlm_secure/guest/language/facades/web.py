"""The facade of urllib.parse. It parses addresses; nothing here opens one."""

from __future__ import annotations

import urllib.parse

from .data import functions
from .facade import facade

URLLIB_PARSE = facade(
    "urllib.parse",
    urllib.parse,
    take="DefragResult ParseResult SplitResult",
    own=functions(
        urllib.parse,
        "parse_qs parse_qsl quote quote_from_bytes quote_plus unquote unquote_plus unquote_to_bytes urldefrag "
        "urlencode urljoin urlparse urlsplit urlunparse urlunsplit",
        urlencode="quote_via",
    ),
    left_out={"DefragResultBytes ParseResultBytes SplitResultBytes": "decode addresses first"},
)

URLLIB = facade(
    "urllib",
    own={"parse": URLLIB_PARSE},
    left_out={"request error response robotparser": "there is no network; ask llm_query or use the context"},
)
