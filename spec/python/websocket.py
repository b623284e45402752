"""A WebSocket over HTTP/2's extended CONNECT (RFC 8441): PORT PATH. Prints what happened as JSON."""

import json
import os
import struct
import sys

from client import Client

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def frame(opcode, payload):
    mask = os.urandom(4)
    size = len(payload)
    if size < 126:
        head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
    elif size < 65536:
        head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, size)
    return head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


class Socket:
    def __init__(self, client, path, fields=()):
        self.client = client
        self.number = client.request(path, "CONNECT", False, [("sec-websocket-version", "13"), *fields], "websocket")
        self.stream = client.streams[self.number]
        client.wait(lambda: self.stream.headers is not None or self.stream.reset is not None)

    def send(self, opcode, payload):
        self.client.send(self.number, frame(opcode, payload))

    def take(self, size):
        self.client.wait(lambda: len(self.stream.body) >= size or self.stream.ended or self.stream.reset is not None)
        taken, self.stream.body = self.stream.body[:size], self.stream.body[size:]
        return taken

    def receive(self):
        opcode, size = struct.unpack("!BB", self.take(2))
        if size == 126:
            (size,) = struct.unpack("!H", self.take(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", self.take(8))
        return opcode & 15, self.take(size)

    def echo(self, opcode, payload):
        self.send(opcode, payload)
        return self.receive() == (opcode, payload)


port, path = int(sys.argv[1]), sys.argv[2]
client = Client(port)
client.wait(lambda: 8 in client.settings)
report = {"enable_connect_protocol": client.settings[8]}

first = Socket(client, path)
report["status"] = first.stream.headers[":status"]
report["text"] = first.echo(TEXT, "grüße".encode())
second = Socket(client, path)
report["large"] = second.echo(BINARY, os.urandom(300_000))
report["interleaved"] = all(one.echo(BINARY, bytes([number])) for number in range(50) for one in (first, second))
first.send(PING, b"ping")
report["ping"] = first.receive() == (PONG, b"ping")
first.send(CLOSE, struct.pack("!H", 1000))
opcode, code = first.receive()
report["close"] = [opcode, struct.unpack("!H", code[:2])[0]]
# The server ends the stream, and Envoy wants no more of it (RST_STREAM with NO_ERROR, RFC 9113, 8.1).
report["ended"] = client.finish(first.number).ended
client.reset(second.number)

refused = Socket(client, "/refuse")
report["refused"] = refused.stream.headers[":status"]
plain = client.finish(client.request("/hello"))
report["afterwards"] = [plain.headers[":status"], plain.body.decode()]
print(json.dumps(report))
