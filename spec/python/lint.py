"""Lints answers with httplint: PORT REQUEST-LINE…. Prints, as JSON, status, warnings and faults of each."""

import json
import socket
import sys

from httplint import HttpResponseLinter
from httplint.note import levels

NO_BODY = (b"204", b"304")


def fields(stream):
    found = []
    while (line := stream.readline().rstrip(b"\r\n")):
        name, value = line.split(b":", 1)
        found.append((name, value.strip()))
    return found


def lint(port, line):
    with socket.create_connection(("127.0.0.1", port), 30) as sock:
        sock.sendall(f"{line} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n".encode())
        stream = sock.makefile("rb")
        version, status, phrase = stream.readline().rstrip(b"\r\n").split(b" ", 2)
        headers = fields(stream)
        bodiless = line.startswith("HEAD") or status in NO_BODY
        linter = HttpResponseLinter(no_content=bodiless)
        linter.process_response_topline(version.split(b"/")[1], status, phrase)
        linter.process_headers(headers)
        trailers = []
        lower = {name.lower(): value for name, value in headers}
        if bodiless:
            linter.finish_content(True)
        elif lower.get(b"transfer-encoding") == b"chunked":
            while (size := int(stream.readline(), 16)):
                linter.feed_content(stream.read(size))
                stream.readline()
            trailers = fields(stream)
            linter.finish_content(True, trailers)
        else:
            linter.feed_content(stream.read())
            linter.finish_content(True)
    bad = [note for note in linter.notes if note.level in (levels.BAD, levels.WARN)]
    return [int(status), *(note.summary for note in bad)]


print(json.dumps([lint(int(sys.argv[1]), line) for line in sys.argv[2:]]))
