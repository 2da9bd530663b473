"""aioquic as a client and as a server of the interop matrix.

    aioquic_peer.py client CASE h3|hq-interop CA DIRECTORY HOST PORT PATH...
    aioquic_peer.py server CASE ADDRESS PORT WWW CERTIFICATE KEY

The client writes one JSON object: what its connections were like. PYTHONPATH says where aioquic is.
"""

import asyncio
import json
import os
import pathlib
import socket
import sys

from aioquic.asyncio import serve
from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, ProtocolNegotiated, StreamDataReceived
from aioquic.quic.packet import QuicProtocolVersion
from aioquic.tls import CipherSuite

KEY_UPDATES = 2


def settings(case, is_client, **more):
    made = QuicConfiguration(is_client=is_client, **more)
    made.max_data, made.max_stream_data = 16 << 20, 6 << 20
    if case == "chacha20":
        made.cipher_suites = [CipherSuite.CHACHA20_POLY1305_SHA256]
    if case == "v2" and is_client:
        made.original_version = QuicProtocolVersion.VERSION_2
        made.supported_versions = [QuicProtocolVersion.VERSION_2]
    return made


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        is_bare = self._quic.configuration.alpn_protocols != ["h3"]
        self.http = None if is_bare else H3Connection(self._quic)
        self.bodies, self.paths, self.waiting = {}, {}, {}
        self.begun = asyncio.Event()
        self.over = None
        self.said = {}

    def ask(self, path):
        stream = self._quic.get_next_available_stream_id()
        self.bodies[stream], self.paths[stream] = bytearray(), path
        self.waiting[stream] = asyncio.get_running_loop().create_future()
        if self.http:
            head = {":method": "GET", ":scheme": "https", ":authority": "server", ":path": path}
            self.http.send_headers(stream, [(name.encode(), value.encode()) for name, value in head.items()], end_stream=True)
        else:
            self._quic.send_stream_data(stream, f"GET {path}\r\n".encode(), True)
        return self.waiting[stream]

    def quic_event_received(self, event):
        if isinstance(event, HandshakeCompleted):
            self.said |= {"resumed": event.session_resumed, "early_accepted": event.early_data_accepted}
        if isinstance(event, ConnectionTerminated):
            self.over = event
            for each in self.waiting.values():
                if not each.done():
                    each.set_exception(ConnectionError(f"{event.error_code:#x} {event.reason_phrase}"))
        if self.http is None:
            if isinstance(event, StreamDataReceived):
                self.take(event.stream_id, event.data, event.end_stream)
            return
        for part in self.http.handle_event(event):
            if isinstance(part, HeadersReceived) and dict(part.headers)[b":status"] != b"200":
                raise ValueError(part.headers)
            if isinstance(part, (DataReceived, HeadersReceived)):
                self.take(part.stream_id, getattr(part, "data", b""), part.stream_ended)

    def take(self, stream, data, ended):
        self.bodies[stream] += data
        if data:
            self.begun.set()
        if ended and not self.waiting[stream].done():
            self.waiting[stream].set_result(None)

    async def move(self):
        """Continues from another port, with another connection id."""
        await self.begun.wait()
        self.change_connection_id()
        away = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        away.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        away.bind(("::", 0, 0, 0))
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(lambda: self, sock=away)


async def visit(arguments, paths, ticket=None, lingers=False):
    case, protocol, authority, directory, host, port = arguments
    configuration = settings(case, True, alpn_protocols=[protocol], server_name="server")
    configuration.load_verify_locations(authority)
    if name := os.environ.get("SSLKEYLOGFILE"):
        configuration.secrets_log_file = open(name, "a")
    configuration.session_ticket = ticket
    tickets = []
    early = case == "zerortt" and ticket is not None
    async with connect(host, int(port), configuration=configuration, create_protocol=Client,
                       session_ticket_handler=tickets.append, wait_connected=not early) as client:
        if case == "keyupdate":
            for _ in range(KEY_UPDATES):
                client.request_key_update()
                await asked(client, paths[:1])
        waiting = asked(client, paths)
        if case == "connectionmigration":
            await client.move()
        await waiting
        while lingers and not tickets:
            await asyncio.sleep(0.01)
    for stream, path in client.paths.items():
        (pathlib.Path(directory) / path.rsplit("/", 1)[1]).write_bytes(client.bodies[stream])
    return client.said, tickets


def asked(client, paths):
    waiting = [client.ask(path) for path in paths]
    client.transmit()
    return asyncio.gather(*waiting)


async def run_client(case, *arguments):
    arguments, paths = (case, *arguments[:5]), arguments[5:]
    if case in ("resumption", "zerortt"):
        first, tickets = await visit(arguments, paths[:1], lingers=True)
        second, _ = await visit(arguments, paths[1:], ticket=tickets[-1])
        said = [first, second]
    elif case in ("handshakeloss", "handshakecorruption"):
        said = [(await visit(arguments, [path]))[0] for path in paths]
    else:
        said = [(await visit(arguments, paths))[0]]
    json.dump({"connections": said}, sys.stdout)


class Server(QuicConnectionProtocol):
    www = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http, self.lines = None, {}

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated) and event.alpn_protocol == "h3":
            self.http = H3Connection(self._quic)
        if self.http:
            for heard in self.http.handle_event(event):
                if isinstance(heard, HeadersReceived):
                    self.answer(heard.stream_id, dict(heard.headers)[b":path"].decode())
        elif isinstance(event, StreamDataReceived):
            line = self.lines.setdefault(event.stream_id, bytearray())
            line += event.data
            if event.end_stream:
                self.answer(event.stream_id, line.split()[1].decode())

    def answer(self, stream, path):
        body = (self.www / path.lstrip("/")).read_bytes()
        if self.http:
            self.http.send_headers(stream, [(b":status", b"200")])
            self.http.send_data(stream, body, True)
        else:
            self._quic.send_stream_data(stream, body, True)
        self.transmit()


async def run_server(case, address, port, www, certificate, key):
    Server.www = pathlib.Path(www)
    configuration = settings(case, False, alpn_protocols=["hq-interop", "h3"])
    configuration.load_cert_chain(certificate, key)
    tickets = {}
    await serve(address, int(port), configuration=configuration, create_protocol=Server, retry=case == "retry",
                session_ticket_fetcher=lambda label: tickets.pop(label, None),
                session_ticket_handler=lambda ticket: tickets.update({ticket.ticket: ticket}))
    await asyncio.Future()


asyncio.run({"client": run_client, "server": run_server}[sys.argv[1]](*sys.argv[2:]))
