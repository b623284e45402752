"""An HTTP/2 client on python3-h2 that leaves every step to the scenario; each wait is bounded."""

import socket

import h2.config
import h2.connection
import h2.events
import h2.settings

PATIENCE_S = 30


class Gone(Exception):
    """The server has closed the connection."""


class Stream:
    def __init__(self):
        self.interim = []
        self.headers = None
        self.body = b""
        self.trailers = None
        self.ended = False
        self.reset = None


class Client:
    """A connection. Windows are widened only by `acknowledge`, unless `greedy`."""

    def __init__(self, port, settings=None, greedy=True):
        self.greedy = greedy
        config = h2.config.H2Configuration(client_side=True, header_encoding="utf-8", validate_outbound_headers=False)
        self.h2 = h2.connection.H2Connection(config=config)
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.sock.settimeout(PATIENCE_S)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.streams = {}
        self.settings = {}
        self.goaway = None
        if settings:
            self.h2.local_settings = h2.settings.Settings(client=True, initial_values=settings)
        self.h2.initiate_connection()
        self.flush()

    def request(self, path, method="GET", end_stream=True, fields=(), protocol=None):
        number = self.h2.get_next_available_stream_id()
        head = [(":method", method), (":scheme", "http"), (":authority", "a.test"), (":path", path)]
        if protocol:
            head.append((":protocol", protocol))
        self.h2.send_headers(number, head + list(fields), end_stream=end_stream)
        self.streams[number] = Stream()
        self.flush()
        return number

    def send(self, number, data, end_stream=False):
        """Sends as much at a time as the server's window allows."""
        while data:
            room = min(self.h2.local_flow_control_window(number), self.h2.max_outbound_frame_size)
            if room == 0:
                self.receive()
                continue
            self.h2.send_data(number, data[:room])
            data = data[room:]
            self.flush()
        if end_stream:
            self.h2.end_stream(number)
            self.flush()

    def reset(self, number, code=8):
        self.h2.reset_stream(number, error_code=code)
        self.flush()

    def acknowledge(self, size, number):
        self.h2.acknowledge_received_data(size, number)
        self.flush()

    def flush(self):
        self.sock.sendall(self.h2.data_to_send())

    def receive(self):
        """Takes what comes next."""
        data = self.sock.recv(65536)
        if not data:
            raise Gone(self.goaway)
        for event in self.h2.receive_data(data):
            self.take(event)
        self.flush()

    def take(self, event):
        if isinstance(event, h2.events.RemoteSettingsChanged):
            self.settings.update({int(code): change.new_value for code, change in event.changed_settings.items()})
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.goaway = event.error_code
        stream = self.streams.get(getattr(event, "stream_id", None))
        if stream is None:
            return
        if isinstance(event, h2.events.InformationalResponseReceived):
            stream.interim.append(list(event.headers))
        elif isinstance(event, h2.events.ResponseReceived):
            stream.headers = dict(event.headers)
        elif isinstance(event, h2.events.TrailersReceived):
            stream.trailers = sorted(event.headers)
        elif isinstance(event, h2.events.DataReceived):
            stream.body += event.data
            if self.greedy and event.flow_controlled_length:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            stream.ended = True
        elif isinstance(event, h2.events.StreamReset):
            stream.reset = int(event.error_code)

    def wait(self, condition):
        while not condition():
            self.receive()

    def finish(self, number):
        """Waits for the end of a stream, and returns it."""
        stream = self.streams[number]
        self.wait(lambda: stream.ended or stream.reset is not None)
        return stream

    def close(self):
        self.sock.close()
