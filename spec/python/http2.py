"""HTTP/2 as a demanding client speaks it: PORT SCENARIO. Prints what happened as JSON."""

import json
import sys

from client import Client, Gone, Stream

import h2.settings


def interleaved(port):
    """Forty uploads, a piece of each in turn."""
    client = Client(port)
    bodies = {client.request("/echo", "POST", False): bytes([65 + at % 26]) * (1000 + at) for at in range(40)}
    for start in range(0, 1040, 100):
        for number, body in bodies.items():
            client.send(number, body[start : start + 100])
    for number in bodies:
        client.h2.end_stream(number)
    client.flush()
    return {"equal": sum(client.finish(number).body == body for number, body in bodies.items())}


def narrow(port):
    """A window of one byte, widened by one at a time; another stream of the connection is not held up."""
    client = Client(port, {h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 1}, greedy=False)
    number = client.request("/big?200")
    steps = []
    while len(client.streams[number].body) < 200:
        have = len(client.streams[number].body)
        client.wait(lambda: len(client.streams[number].body) > have)
        steps.append(len(client.streams[number].body) - have)
        if have == 100:
            empty = client.finish(client.request("/big?0")).headers[":status"]
        if have < 199:
            client.h2.increment_flow_control_window(1, number)
            client.flush()
    return {"steps": sorted(set(steps)), "ended": client.finish(number).ended, "meanwhile": empty}


def resets(port):
    """RST_STREAM at each stage of a request, and a request after each on the same connection."""
    client = Client(port)
    # What comes for a stream that was reset is not acknowledged.
    client.h2.increment_flow_control_window(2**30)
    afterwards = []

    def stage(path, method="GET", steps=()):
        number = client.request(path, method, method == "GET")
        for step in steps:
            step(number)
        client.reset(number)
        afterwards.append(client.finish(client.request("/hello")).body.decode())

    def some(number):
        client.send(number, b"x" * 1000)

    def end(number):
        client.send(number, b"", True)

    def headers(number):
        client.wait(lambda: client.streams[number].headers is not None)

    def data(number):
        client.wait(lambda: client.streams[number].body)

    stage("/sleep")
    stage("/read", "POST")
    stage("/read", "POST", [some])
    stage("/sleep", "POST", [some, end])
    stage("/endless", "GET", [headers])
    stage("/endless", "GET", [headers, data])
    number = client.request("/hello")
    client.finish(number)
    afterwards.append(client.finish(client.request("/hello")).body.decode())
    return {"afterwards": afterwards}


def trailers(port):
    client = Client(port)
    number = client.request("/trailers", "POST", False, [("te", "trailers"), ("content-type", "application/grpc")])
    client.send(number, b"message")
    client.h2.send_headers(number, [("x-first", "1"), ("x-second", "2")], end_stream=True)
    client.flush()
    stream = client.finish(number)
    return {"body": stream.body.decode(), "trailers": stream.trailers, "status": stream.headers[":status"]}


def hints(port):
    client = Client(port)
    stream = client.finish(client.request("/hints"))
    return {"interim": [[value for name, value in one if name in (":status", "link")] for one in stream.interim],
            "body": stream.body.decode()}


def rapid(port):
    """Rapid reset (CVE-2023-44487): streams that are opened and reset at once, until the server has enough of it."""
    sent = 0
    goodbyes = 0
    while sent < 4000:
        client = Client(port)
        try:
            while sent < 4000:
                for _ in range(20):
                    number = client.h2.get_next_available_stream_id()
                    client.h2.send_headers(
                        number, [(":method", "GET"), (":scheme", "http"), (":authority", "a.test"), (":path", "/sleep")], True
                    )
                    client.h2.reset_stream(number, 8)
                    sent += 1
                client.flush()
                client.sock.setblocking(False)
                try:
                    client.receive()
                except BlockingIOError:
                    pass
                client.sock.setblocking(True)
        except (Gone, OSError):
            goodbyes += 1
    return {"sent": sent, "goodbyes": goodbyes}


def lengths(port):
    """A body that is not as long as its content-length."""
    client = Client(port)
    report = {}
    for name, body in (("short", b"abc"), ("long", b"abcdefgh")):
        number = client.request("/read", "POST", False, [("content-length", "5")])
        client.send(number, body, True)
        report[name] = client.finish(number).reset
    report["afterwards"] = client.finish(client.request("/hello")).body.decode()
    return report


def malformed(port):
    """Heads that RFC 9113 (8.2 and 8.3) forbids: each costs its stream or its connection, and nothing else."""
    line = [(":method", "GET"), (":scheme", "http"), (":authority", "a.test"), (":path", "/hello")]
    heads = {
        "upper case": line + [("X-Upper", "1")],
        "connection": line + [("connection", "keep-alive")],
        "transfer-encoding": line + [("transfer-encoding", "chunked")],
        "te": line + [("te", "gzip")],
        "no method": line[1:],
        "no path": line[:3],
        "empty path": line[:3] + [(":path", "")],
        "path without a slash": line[:3] + [(":path", "hello")],
        "two methods": line + [(":method", "GET")],
        "late method": line[1:] + [("x-a", "1"), line[0]],
        "unknown pseudo": line + [(":what", "1")],
        "line feed": line + [("x-a", "1\n2")],
        "nul": line + [("x-a", "1\0")],
        "space in a name": line + [("x a", "1")],
        "underscore": line + [("x_forwarded_for", "192.0.2.1")],
        "two hosts": [line[0], line[1], (":authority", "a.test,b.test"), line[3]],
        "other scheme": [line[0], (":scheme", "ftp"), line[2], line[3]],
    }
    report = {}
    for name, head in heads.items():
        client = Client(port)
        client.h2.config.normalize_outbound_headers = False
        number = client.h2.get_next_available_stream_id()
        client.h2.send_headers(number, head, end_stream=True)
        stream = client.streams[number] = Stream()
        client.flush()
        try:
            client.finish(number)
            report[name] = stream.headers[":status"] if stream.headers else "reset"
        except (Gone, ConnectionResetError):
            report[name] = "gone"
        client.close()
    report["afterwards"] = (lambda client: client.finish(client.request("/hello")).body.decode())(Client(port))
    return report


print(json.dumps(globals()[sys.argv[2]](int(sys.argv[1]))))
