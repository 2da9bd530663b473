"""WebSocket over HTTP/2 (RFC 8441) by python-h2 and wsproto: h2_socket.py PORT [announced]. Writes what it received as JSON."""

import json
import socket
import ssl
import sys

import h2.config
import h2.connection
import h2.events
import h2.settings
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, TextMessage

PATIENCE = 60
LARGE = bytes(range(256)) * 1200


class Client:
    def __init__(self, port):
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        self.authority = f"localhost:{port}"
        self.socket = context.wrap_socket(socket.create_connection(("127.0.0.1", port), PATIENCE))
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8", validate_outbound_headers=False))
        self.h2.initiate_connection()
        self.heard = {}
        self.enabled = None
        self.flush()

    def flush(self):
        self.socket.sendall(self.h2.data_to_send())

    def take(self):
        data = self.socket.recv(65536)
        if not data:
            raise EOFError
        for event in self.h2.receive_data(data):
            if isinstance(event, h2.events.RemoteSettingsChanged):
                change = event.changed_settings.get(h2.settings.SettingCodes.ENABLE_CONNECT_PROTOCOL)
                self.enabled = change.new_value if change else self.enabled
            stream = self.heard.get(getattr(event, "stream_id", None))
            if isinstance(event, h2.events.ResponseReceived):
                stream["head"] = {name: value for name, value in event.headers}
            elif isinstance(event, h2.events.DataReceived):
                stream["data"] += event.data
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                stream["end"] = "ended"
            elif isinstance(event, h2.events.StreamReset):
                stream["end"] = stream["end"] or f"reset {int(event.error_code)}"
        self.flush()

    def until(self, is_so):
        while not is_so():
            self.take()

    def connect(self, path, protocol="websocket", more=()):
        stream = self.h2.get_next_available_stream_id()
        self.heard[stream] = {"head": None, "data": b"", "end": None}
        if protocol is None:
            head = [(":method", "CONNECT"), (":authority", self.authority)]
        else:
            head = [(":method", "CONNECT"), (":protocol", protocol), (":scheme", "https"), (":path", path)]
            head += [(":authority", self.authority), ("sec-websocket-version", "13"), *more]
        self.h2.send_headers(stream, head)
        self.flush()
        self.until(lambda: self.heard[stream]["head"] or self.heard[stream]["end"])
        return stream

    def status(self, stream):
        head = self.heard[stream]["head"]
        return int(head[":status"]) if head else self.heard[stream]["end"]

    def send(self, stream, data):
        while data:
            self.until(lambda: self.h2.local_flow_control_window(stream) > 0)
            size = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size, len(data))
            self.h2.send_data(stream, data[:size])
            data = data[size:]
            self.flush()

    def end(self, stream):
        self.until(lambda: self.heard[stream]["end"])
        return self.heard[stream]["end"]


class Socket:
    """Frames of WebSocket on a stream."""

    def __init__(self, client, path, more=()):
        self.client, self.stream = client, client.connect(path, more=more)
        self.frames, self.messages, self.read = Connection(ConnectionType.CLIENT), [], 0

    def send(self, event):
        self.client.send(self.stream, self.frames.send(event))

    def next(self):
        """The next whole message, or None at the end."""
        whole = b""
        while True:
            heard = self.client.heard[self.stream]
            self.frames.receive_data(heard["data"][self.read:])
            self.read = len(heard["data"])
            for event in self.frames.events():
                if isinstance(event, CloseConnection):
                    return event.code
                part = event.data.encode() if isinstance(event, TextMessage) else bytes(event.data)
                whole += part
                if event.message_finished:
                    return whole
            if heard["end"]:
                return None
            self.client.take()


def last(client, wanted):
    """How the server saw the previous connection end; that may take a moment."""
    for _ in range(500):
        said = Socket(client, "/ws/last").next().decode()
        if said == wanted:
            break
    return said


def main(port, only_announced):
    client = Client(port)
    # The server's settings come first.
    client.take()
    if only_announced:
        json.dump(client.enabled, sys.stdout)
        return
    said = {"enabled": client.enabled}
    talk = Socket(client, "/ws/talk", [("sec-websocket-protocol", "chat")])
    head = client.heard[talk.stream]["head"]
    said["status"] = client.status(talk.stream)
    said["protocol"] = head.get("sec-websocket-protocol")
    said["of one hop"] = [name for name in ("upgrade", "connection", "sec-websocket-accept") if name in head]
    talk.send(TextMessage("hello"))
    said["echo"] = talk.next().decode()
    talk.send(BytesMessage(LARGE))
    said["large"] = talk.next() == LARGE
    talk.send(CloseConnection(1000))
    said["close"] = talk.next()
    said["end"] = client.end(talk.stream)
    said["seen"] = last(client, "1000")

    half = Socket(client, "/ws/talk")
    half.send(TextMessage("x"))
    half.next()
    client.h2.end_stream(half.stream)
    client.flush()
    said["half"] = [client.end(half.stream), last(client, "1006")]

    closed = Socket(client, "/ws/talk")
    closed.send(CloseConnection(1001))
    closed.next()
    said["between"] = last(client, "1001")
    reset = Socket(client, "/ws/talk")
    reset.send(TextMessage("x"))
    reset.next()
    client.h2.reset_stream(reset.stream, 8)
    client.flush()
    said["reset"] = last(client, "1006")

    said["refused"] = client.status(client.connect("/ws/refuse"))
    for name, path, protocol in [
        ("no switch", "/ws/plain", "websocket"),
        ("liar", "/liar", "websocket"),
        ("no upgrades", "/plain", "websocket"),
        ("other protocol", "/ws/talk", "connect-udp"),
        ("plain connect", None, None),
    ]:
        said[name] = client.status(client.connect(path, protocol))
    again = Socket(client, "/ws/talk")
    again.send(TextMessage("again"))
    said["again"] = again.next().decode()
    json.dump(said, sys.stdout)


main(int(sys.argv[1]), len(sys.argv) > 2)
