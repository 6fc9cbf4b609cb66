"""Zip files read as the standard library reads them, or refused."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trialframe.errors import SourceError
from trialframe.read import _archive, _bounded
from trialframe.read._archive import Archive, first_member

if TYPE_CHECKING:
    from pathlib import Path

NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\:."), min_size=1
)
MEMBERS = st.dictionaries(NAMES, st.binary(max_size=300), max_size=6)
WAYS = st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
SLOW = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def packed(
    members: dict[str, bytes], way: int = zipfile.ZIP_DEFLATED, comment: bytes = b""
) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", way) as archive:
        archive.comment = comment
        for name, content in members.items():
            member = zipfile.ZipInfo(name)  # of 1980, so that the bytes are always the same
            archive.writestr(member, content, way)
    return file.getvalue()


def unpacked(path: Path) -> dict[str, bytes]:
    with Archive(path) as archive:
        return {name: archive.read(name) for name in archive.names}


@SLOW
@given(members=MEMBERS, way=WAYS, comment=st.binary(max_size=40), before=st.binary(max_size=40))
def test_members_are_those_of_the_standard_library(
    tmp_path: Path, members: dict[str, bytes], way: int, comment: bytes, before: bytes
) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(before + packed(members, way, comment.replace(b"PK", b"")))
    with zipfile.ZipFile(path) as archive:
        want = {name: archive.read(name) for name in archive.namelist()}
    assert unpacked(path) == want
    assert list(unpacked(path)) == list(members)


@SLOW
@given(members=MEMBERS, way=WAYS, data=st.data())
def test_a_damaged_archive_is_refused_or_read_as_it_was(
    tmp_path: Path, members: dict[str, bytes], way: int, data: st.DataObject
) -> None:
    content = bytearray(packed(members, way))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    path = tmp_path / "damaged.zip"
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    first_member(bytes(content))
    with suppress(SourceError), Archive(path) as archive:
        for name in archive.names:
            with suppress(SourceError):
                assert archive.read(name) in members.values()


def test_many_members_and_large_ones_need_numbers_of_64_bits(tmp_path: Path) -> None:
    many = tmp_path / "many.zip"
    with zipfile.ZipFile(many, "w") as archive:
        for number in range(66_000):
            archive.writestr(f"{number}", b"x" if number == 65_999 else b"")
        with archive.open("wide", "w", force_zip64=True) as member:
            member.write(b"wide")
    with Archive(many) as read:
        assert len(read.names) == 66_001
        assert read.read("65999") == b"x"
        assert read.read("wide") == b"wide"


def test_places_beyond_4_gib_are_found(tmp_path: Path) -> None:
    path = tmp_path / "far.zip"
    with path.open("wb") as file:
        file.truncate(2**32 + 10)  # a hole, no bytes on the disk
        file.seek(0, io.SEEK_END)
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr("far", b"away")
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo("far").header_offset > 2**32
    assert unpacked(path) == {"far": b"away"}


def entry(content: bytes, **changes: Any) -> bytes:
    """An archive of one member, with other words in its directory than are true."""
    said = {"flags": 0, "method": 93, "crc": zlib.crc32(content), "size": len(content)} | changes
    stored: bytes = said.get("packed", pa.Codec("zstd").compress(content, asbytes=True))
    name = said.get("name", b"a.json")
    numbers = said["flags"], said["method"], 0, 0, said["crc"], len(stored), said["size"]
    local = struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, *numbers, len(name), 0) + name + stored
    head = struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 20, 20, *numbers, len(name), *[0] * 6)
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, len(head + name), len(local), 0)
    return local + head + name + end


def test_members_of_several_zstandard_frames(tmp_path: Path) -> None:
    path = tmp_path / "frames.zip"
    frames = [pa.Codec("zstd").compress(part, asbytes=True) for part in (b"one ", b"two")]
    path.write_bytes(entry(b"one two", packed=b"".join(frames)))
    assert unpacked(path) == {"a.json": b"one two"}
    path.write_bytes(entry(b""))
    assert unpacked(path) == {"a.json": b""}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"crc": 1}, "its checksum differs"),
        ({"size": 3}, "is corrupt"),
        ({"size": 30}, "is corrupt"),
        ({"size": _bounded.MAX_DOCUMENT + 1}, "more than 512 MiB"),
        ({"method": 12}, "packed by method 12"),
        ({"method": 8}, "is corrupt"),
        ({"flags": 1}, "it is encrypted"),
        ({"packed": b""}, "is corrupt"),
        ({"name": b"../a.json"}, "climbs out"),
        ({"name": b"a/../../b"}, "climbs out"),
        ({"name": b"/etc/a.json"}, "climbs out"),
    ],
)
def test_what_a_member_claims_is_checked(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = tmp_path / "lies.zip"
    path.write_bytes(entry(b"a text that is packed", **changes))
    with pytest.raises(SourceError, match=message):
        unpacked(path)


def test_a_small_file_of_a_large_member_takes_no_more_than_it_claims(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    content = packed({"a": b"0" * 2**24})
    lie = content.replace(struct.pack("<I", 2**24), struct.pack("<I", 100))
    path.write_bytes(lie)
    with Archive(path) as archive, pytest.raises(SourceError, match="its checksum differs"):
        archive.read("a")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no directory"),
        (b"PK\x03\x04", "no directory"),
        (packed({"a": b"b"})[:-1], "no directory"),
        (packed({"a": b"b"})[10:], "is corrupt|is no whole zip file"),
        (struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, 2**30, 0, 0), "too long to be one"),
        (b"x" * 99 + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, 99, 0, 0), "is damaged"),
    ],
    ids=["empty", "begun", "end cut", "start cut", "long directory", "other directory"],
)
def test_other_files_are_no_archives(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "other.zip"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=message):
        unpacked(path)


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_archive, "MAX_MEMBERS", 2)
    path = tmp_path / "many.zip"
    path.write_bytes(packed({"a": b"", "b": b"", "c": b""}))
    with pytest.raises(SourceError, match="more than 2 members"):
        Archive(path)


def test_members_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    bomb = bytearray(packed({f"{n}": b"0" * 2**20 for n in range(3)}))
    places = [at for at in range(len(bomb)) if bomb[at : at + 4] == b"PK\x01\x02"]
    for place in places:
        bomb[place + 42 : place + 46] = bytes(4)  # all begin where the first one does
    path = tmp_path / "shared.zip"
    path.write_bytes(bytes(bomb))
    with Archive(path) as archive:
        assert len(archive.read("0")) == 2**20
        with pytest.raises(SourceError, match="another name than the directory says"):
            archive.read("1")
        for _ in range(2):
            archive.read("0")
        with pytest.raises(SourceError, match="lie one above the other"):
            archive.read("0")


def test_folders_are_no_members(tmp_path: Path) -> None:
    path = tmp_path / "folders.zip"
    path.write_bytes(packed({"a/": b"", "a/b": b"c"}))
    assert unpacked(path) == {"a/b": b"c"}


@pytest.mark.parametrize(
    "comment",
    [b"PK\x05\x06", packed({}) + b"PK\x05\x06 and more", b"PK"],
    ids=["sign", "archive", "half a sign"],
)
def test_a_comment_may_look_like_an_end(tmp_path: Path, comment: bytes) -> None:
    path = tmp_path / "comment.zip"
    path.write_bytes(packed({"a": b"b"}, comment=comment))
    assert unpacked(path) == {"a": b"b"}


def test_what_follows_an_archive_does_not_hide_it(tmp_path: Path) -> None:
    path = tmp_path / "more.zip"
    path.write_bytes(packed({"a": b"b"}) + b"\n")
    assert unpacked(path) == {"a": b"b"}
