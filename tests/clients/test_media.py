"""Images and sound in a sub-call: told by their bytes, bounded as prompts are, in the form of each provider."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest

from rlm_secure.clients.media import described, inline, media_type, most_tokens, text_of, with_media
from rlm_secure.clients.windows import fewest_tokens, prompt_characters
from rlm_secure.errors import ProviderError
from rlm_secure.events import CellCompleted, ModelCalled, Violation
from tests.clients.test_other_providers import client_of
from tests.loops import Heard, cell, limited, scripted
from tests.servers.openai_server import OpenAIServer, Raw
from tests.servers.replies import SAYS

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
WAV = b"RIFF\x24\0\0\0WAVEfmt "
KINDS = {
    "image/png": PNG,
    "image/jpeg": b"\xff\xd8\xff\xe0\0\x10JFIF",
    "image/gif": b"GIF89a\1\0\1\0",
    "image/webp": b"RIFF\x24\0\0\0WEBPVP8 ",
    "audio/wav": WAV,
    "audio/mp3": b"\xff\xfb\x90\x64",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_type_is_told_by_the_first_bytes(kind: str) -> None:
    assert media_type(KINDS[kind]) == kind
    (_, part) = with_media("q", [KINDS[kind]])[0]["content"]
    found = inline(part)
    assert found is not None and (found[0], base64.b64decode(found[1])) == (kind, KINDS[kind])


@pytest.mark.parametrize(
    "data",
    [
        b"", b"GIF8", b"RIFF\0\0\0\0AVI ", b"RIFF", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"%PDF-1.7", b"BM\0\0",
        b"\xff\xfb", b"\xff\xeb\x90\x64", b"\xff\xfb\xf0\x64", b"\xff\xfb\x9c\x64", b"\xff\xfe\0\0", b"http://x/a.png",
    ],
)  # fmt: skip
def test_anything_else_is_none_of_ours(data: bytes) -> None:
    assert media_type(data) is None


def test_id3_and_an_older_gif_are_known_as_well() -> None:
    assert (media_type(b"ID3\4"), media_type(b"GIF87a")) == ("audio/mp3", "image/gif")


def test_what_is_no_media_of_ours_is_not_taken_for_it() -> None:
    remote = {"type": "image_url", "image_url": {"url": "https://example.com/a.png;base64,x"}}
    assert [inline(each) for each in (remote, {"type": "text", "text": "t"}, "text", None)] == [None] * 4


def test_only_the_text_counts_as_text() -> None:
    asked = with_media("four", [PNG * 9_000, WAV * 1_000])
    assert (prompt_characters(asked), fewest_tokens(asked)) == (4, 0)
    assert text_of(asked[0]["content"]) == "four"
    assert most_tokens(asked[0]["content"]) == 49_152 + len(base64.b64encode(WAV * 1_000)) // 64 + 1
    assert most_tokens("four") == 0
    assert described("q", [PNG, WAV]) == "q\n[image/png: 28 bytes]\n[audio/wav: 16 bytes]"


# -- at each provider -------------------------------------------------------------------------------------


def sent(backend: str, media: list[bytes]) -> dict[str, Any]:
    with OpenAIServer(reply=lambda _: Raw(body=SAYS[backend]("seen"))) as server:
        client = client_of(backend, server, max_retries=0)
        assert asyncio.run(client.acomplete(with_media("q", media))).text == "seen"
        return server.requests[0].body


@pytest.mark.parametrize("backend", ["azure_openai", "portkey"])
def test_openais_form(backend: str) -> None:
    image, sound = base64.b64encode(PNG).decode(), base64.b64encode(WAV).decode()
    assert sent(backend, [PNG, WAV])["messages"][0]["content"] == [
        {"type": "text", "text": "q"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}},
        {"type": "input_audio", "input_audio": {"data": sound, "format": "wav"}},
    ]


def test_anthropics_form() -> None:
    assert sent("anthropic", [PNG])["messages"][0]["content"] == [
        {"type": "text", "text": "q"},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()},
        },
    ]
    with pytest.raises(ProviderError, match="its models take images, and no sound"):
        sent("anthropic", [WAV])


def test_geminis_form() -> None:
    _, image, sound = sent("gemini", [PNG, WAV])["contents"][0]["parts"]
    for part, kind, data in ((image, "image/png", PNG), (sound, "audio/wav", WAV)):
        assert part["inlineData"].get("mimeType", part["inlineData"].get("mime_type")) == kind
        assert base64.urlsafe_b64decode(part["inlineData"]["data"].replace("+", "-").replace("/", "_")) == data
    remote = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}]
    with OpenAIServer() as server, pytest.raises(ProviderError, match="no text, image or sound"):
        client_of("gemini", server, max_retries=0).complete(remote)


# -- from a cell ------------------------------------------------------------------------------------------


def seen(code: str, **more: Any) -> tuple[str, list[Any], Heard]:
    """The output of a cell, the prompts that a model got, and the events."""
    heard, asked = Heard(), []

    def reply(prompt: Any) -> str:
        asked.append(prompt)
        return "a cat"

    scripted([cell(code), "FINAL(done)"], reply, on_event=heard, **more).completion("c")
    (block,) = heard.of(CellCompleted)
    return block.block.result.stdout + block.block.result.stderr, asked, heard


def test_a_cell_shows_a_model_images_and_sound() -> None:
    printed, asked, heard = seen(f"print(llm_query('what is it?', media=[{PNG!r}, {WAV!r}]), llm_query('q', media=[]))")
    assert printed.strip() == "a cat a cat"
    assert asked == [with_media("what is it?", [PNG, WAV]), "q"]
    (block,) = heard.of(CellCompleted)
    assert block.block.result.rlm_calls[0].prompt == "what is it?\n[image/png: 28 bytes]\n[audio/wav: 16 bytes]"


@pytest.mark.parametrize("data", [b"<svg/>", b"", b"https://example.com/cat.png", b"/etc/passwd"])
def test_what_is_no_image_is_refused_and_nothing_is_fetched(data: bytes) -> None:
    printed, asked, heard = seen(f"print(llm_query('q', media=[{PNG!r}, {data!r}]))")
    assert "Error: media 1 is no PNG" in printed
    assert asked == []
    assert [each.rule for each in heard.of(Violation)] == ["lm-media"]
    assert [each.purpose for each in heard.of(ModelCalled)] == ["turn", "turn"]


def test_media_have_the_limit_of_a_prompt() -> None:
    code = f"print(llm_query('q', media=[{PNG!r} + bytes(2_000)]))"
    printed, asked, _ = seen(code, policy=limited(prompt_bytes=2_000))
    assert "Error: the prompt and its media take 2,029 bytes, more than lm.prompt_bytes = 2,000" in printed
    assert asked == []


@pytest.mark.parametrize(
    ("media", "error"),
    [
        ("'text'", "TypeError: media is a list of images and sounds as bytes; one of them is str"),
        ("b'x'", "TypeError: media is a list of images and sounds as bytes; one of them is int"),
        ("[bytearray(3)]", "one of them is bytearray"),
        ("[b''] * 17", "ValueError: llm_query takes at most 16 media in one call, not 17; ask in parts"),
        ("5", "TypeError"),
    ],
)
def test_other_values_are_an_error_of_the_cell(media: str, error: str) -> None:
    printed, asked, _ = seen(f"llm_query('q', media={media})")
    assert error in printed
    assert asked == []


def test_a_subclass_of_bytes_is_not_bytes() -> None:
    printed, asked, _ = seen("class B(bytes): pass\nllm_query('q', media=[B(b'x')])")
    assert "one of them is B" in printed
    assert asked == []

