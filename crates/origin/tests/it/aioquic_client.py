"""One GET, or two: aioquic_client.py HOST PORT CERTIFICATE PROTOCOL PATH WISH.

PROTOCOL is h3 or hq-interop. WISH is what else to try: nothing, early (a second connection, whose request is early data),
versions (offers an unknown version first), keys (updates them in mid-body), rebind (continues from another port) or migrate
(the same with another connection id). Writes one JSON object. Needs aioquic.
"""

import asyncio
import json
import socket
import sys

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import HandshakeCompleted, StreamDataReceived
from aioquic.quic.logger import QuicLogger
from aioquic.quic.packet import QuicProtocolVersion

PATIENCE = 60
UNKNOWN_VERSION = 0x1A2A3A4A


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.said = {"status": None, "bytes": 0}
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()
        is_bare = self._quic.configuration.alpn_protocols != ["h3"]
        self.http = None if is_bare else H3Connection(self._quic)

    def ask(self, path):
        stream = self._quic.get_next_available_stream_id()
        if self.http is not None:
            head = [
                (b":method", b"GET"),
                (b":scheme", b"https"),
                (b":authority", b"localhost"),
                (b":path", path.encode()),
            ]
            self.http.send_headers(stream, head, end_stream=True)
        else:
            self._quic.send_stream_data(stream, b"GET " + path.encode() + b"\r\n", True)
        self.transmit()

    def quic_event_received(self, event):
        if isinstance(event, HandshakeCompleted):
            self.said["early"] = event.early_data_accepted
        if self.http is None:
            if isinstance(event, StreamDataReceived):
                self.take(event.data, event.end_stream)
            return
        for part in self.http.handle_event(event):
            if isinstance(part, HeadersReceived):
                self.said["status"] = int(dict(part.headers)[b":status"])
            if isinstance(part, (DataReceived, HeadersReceived)):
                self.take(getattr(part, "data", b""), part.stream_ended)

    def take(self, data, ended):
        self.said["bytes"] += len(data)
        if data:
            self.begun.set()
        if ended:
            self.ended.set()

    async def move(self):
        away = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        away.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        away.bind(("::", 0, 0, 0))
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(lambda: self, sock=away)


async def visit(arguments, log, ticket=None):
    host, port, certificate, protocol, path, wish = arguments
    settings = QuicConfiguration(
        is_client=True, alpn_protocols=[protocol], server_name="localhost", quic_logger=log, session_ticket=ticket
    )
    settings.load_verify_locations(certificate)
    if wish == "versions":
        settings.original_version = UNKNOWN_VERSION
        settings.supported_versions = [UNKNOWN_VERSION, QuicProtocolVersion.VERSION_1]
    tickets = []
    async with connect(
        host,
        int(port),
        configuration=settings,
        create_protocol=Client,
        session_ticket_handler=tickets.append,
        wait_connected=ticket is None,
    ) as client:
        client.ask(path)
        if wish in ("keys", "rebind", "migrate"):
            await client.begun.wait()
        if wish == "keys":
            client.request_key_update()
        if wish == "migrate":
            client.change_connection_id()
        if wish in ("rebind", "migrate"):
            await client.move()
        await client.ended.wait()
        while wish == "early" and not tickets:
            await asyncio.sleep(0.01)
    return client.said, tickets


def seen(log):
    """Which of these packets and frames came."""
    found = set()
    for trace in log.to_dict()["traces"]:
        for event in trace["events"]:
            if event["name"] == "transport:packet_received":
                data = event["data"]
                found.add(data.get("header", data).get("packet_type"))
                found.update(frame["frame_type"] for frame in data.get("frames", []))
    wanted = ("retry", "version_negotiation", "new_token", "path_challenge", "path_response")
    return [name for name in wanted if name in found]


async def main():
    log = QuicLogger()
    arguments = sys.argv[1:]
    said, tickets = await asyncio.wait_for(visit(arguments, log), PATIENCE)
    if arguments[-1] == "early":
        said, _ = await asyncio.wait_for(visit(arguments, log, tickets[-1]), PATIENCE)
    said["seen"] = seen(log)
    json.dump(said, sys.stdout)


asyncio.run(main())
