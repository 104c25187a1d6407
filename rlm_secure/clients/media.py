"""Images and sound in a prompt: their types, told by their first bytes, and their form in a message.

A message carries them as OpenAI's API does, base64 in parts of its content, whatever provider it goes to. Nothing here
opens an address: an image is bytes that somebody had.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any, Final

_BEGINNINGS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"ID3", "audio/mp3"),
)
_RIFF: Final = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
#: Tokens of an image, at most, with any provider; and bytes of sound per token, at least.
_IMAGE_TOKENS: Final = 49_152
_SOUND_BYTES: Final = 64


def media_type(data: bytes) -> str | None:
    """The type of an image (PNG, JPEG, GIF, WebP) or sound (WAV, MP3), by its first bytes; None for anything else."""
    for beginning, kind in _BEGINNINGS:
        if data.startswith(beginning):
            return kind
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12])
    return "audio/mp3" if _is_mp3(data[:4]) else None


def _is_mp3(head: bytes) -> bool:
    """Whether `head` is the header of a frame of MPEG audio, layer III."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE6 != 0xE2:
        return False
    return head[1] & 0x18 != 0x08 and head[2] & 0xF0 != 0xF0 and head[2] & 0x0C != 0x0C


def with_media(text: str, media: Sequence[bytes]) -> list[dict[str, Any]]:
    """One message of the user's with `text` and media of known types."""
    parts = [_part(media_type(each) or "", b64encode(each).decode()) for each in media]
    return [{"role": "user", "content": [{"type": "text", "text": text}, *parts]}]


def _part(kind: str, data: str) -> dict[str, Any]:
    if kind.startswith("audio/"):
        return {"type": "input_audio", "input_audio": {"data": data, "format": kind.removeprefix("audio/")}}
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}


def described(text: str, media: Sequence[bytes]) -> str:
    """The prompt for records: its text, and what each of the media is."""
    return "\n".join((text, *(f"[{media_type(each)}: {len(each):,} bytes]" for each in media)))


def inline(part: Any) -> tuple[str, str] | None:
    """The type and the base64 of a part of a message that holds media itself; None for any other part."""
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "input_audio":
        return f"audio/{part['input_audio']['format']}", part["input_audio"]["data"]
    if kind == "image_url":
        head, _, data = str(part["image_url"]["url"]).partition(";base64,")
        return (head.removeprefix("data:"), data) if head.startswith("data:image/") else None
    return None


def text_of(content: Any) -> str:
    """The text of a message's content, which is a str or a list of parts."""
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and part.get("text"))
    return str(content or "")


def most_tokens(content: Any) -> int:
    """Tokens of the media in a message's content, at most."""
    found = [inline(part) for part in content] if isinstance(content, list) else []
    return sum(
        _IMAGE_TOKENS if each[0].startswith("image/") else len(each[1]) // _SOUND_BYTES + 1 for each in found if each
    )
