"""Searches every file of a data folder for a word, as it is and unpacked.

    python tests/erased.py FOLDER WORD

Every gzip member and zstd frame of a file is unpacked, by the standard library and FastWARC; other files are read as they are. Prints
how much was searched; each place where the word stands goes to standard error, and the exit code is 1.
"""

import pathlib
import sys
import zlib

from fastwarc.stream_io import ZstdReader


def gunzipped(data):
    """The content of each member."""
    while data:
        member = zlib.decompressobj(wbits=31)
        yield member.decompress(data) + member.flush()
        if not member.eof:
            raise ValueError("a torn member")
        data = member.unused_data


def forms(path):
    """The bytes of a file, and what they are when unpacked."""
    data = path.read_bytes()
    yield data
    if path.suffix == ".gz":
        yield from gunzipped(data)
    elif path.suffix == ".zst":
        with open(path, "rb") as packed:
            yield ZstdReader(packed).read()


def main(folder, word):
    files, searched, found = 0, 0, 0
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if not path.is_file():
            continue
        files += 1
        for data in forms(path):
            searched += len(data)
            at = data.find(word)
            if at >= 0:
                found += 1
                print(f"{path}: {data[max(0, at - 60):at + 60]!r}", file=sys.stderr)
    print(f"files={files} bytes={searched} found={found}")
    return 1 if found or not searched else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2].encode()))
