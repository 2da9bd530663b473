"""GET and POST over HTTP/3, on a plain connection and as early data: h3_client.py HOST:PORT CERTIFICATE FIELD-FILE.

Writes one JSON object. Needs aioquic. While the early requests are under way it keeps its second flight (with the
handshake's Finished) back: what is answered by then was answered before the handshake was over, on any machine.
"""

import asyncio
import json
import sys

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted

PATIENCE = 60
ATTEMPTS = 40


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.held = False
        self.answers = {}
        self.accepted = asyncio.get_running_loop().create_future()

    def connect(self, addr, transmit=True):
        super().connect(addr, transmit=False)
        self.http = H3Connection(self._quic)
        if transmit:
            self.transmit()

    def transmit(self):
        if not self.held:
            super().transmit()

    def ask(self, method, authority, fields, body=b""):
        stream = self._quic.get_next_available_stream_id()
        head = [
            (b":method", method),
            (b":scheme", b"https"),
            (b":authority", authority),
            (b":path", b"/mine/echo"),
            *fields,
        ]
        if body:
            head.append((b"content-length", b"%d" % len(body)))
        future = asyncio.get_running_loop().create_future()
        self.answers[stream] = [None, bytearray(), future]
        self.http.send_headers(stream, head, end_stream=not body)
        if body:
            self.http.send_data(stream, body, end_stream=True)
        return future

    def quic_event_received(self, event):
        if isinstance(event, HandshakeCompleted):
            self.accepted.set_result(event.early_data_accepted)
        if isinstance(event, ConnectionTerminated):
            for _, _, future in self.answers.values():
                if not future.done():
                    future.set_exception(ConnectionError(event.reason_phrase))
        for part in self.http.handle_event(event):
            answer = self.answers.get(getattr(part, "stream_id", None))
            if answer is None:
                continue
            if isinstance(part, HeadersReceived) and answer[0] is None:
                answer[0] = int(dict(part.headers)[b":status"])
            elif isinstance(part, DataReceived):
                answer[1] += part.data
            if part.stream_ended:
                answer[2].set_result([answer[0], answer[1].decode()])


class Caller:
    def __init__(self, address, certificate, field):
        self.host, port = address.rsplit(":", 1)
        self.port = int(port)
        self.authority = address.encode()
        self.certificate = certificate
        name, value = field.strip().split(": ", 1)
        self.fields = [(name.lower().encode(), value.encode())]
        self.tickets, self.tokens = [], []

    def call(self, ticket=None):
        settings = QuicConfiguration(
            is_client=True, alpn_protocols=H3_ALPN, server_name=self.host, session_ticket=ticket
        )
        if ticket:
            # Without it, early data waits until the address is validated.
            settings.token = self.tokens[-1]
        settings.load_verify_locations(self.certificate)
        return connect(
            self.host,
            self.port,
            configuration=settings,
            create_protocol=Client,
            session_ticket_handler=self.tickets.append,
            token_handler=self.tokens.append,
            wait_connected=ticket is None,
        )

    async def plainly(self):
        self.tickets.clear()
        async with self.call() as client:
            get = client.ask(b"GET", self.authority, self.fields)
            post = client.ask(b"POST", self.authority, self.fields, b"x" * 50000)
            client.transmit()
            said = {"get": await get, "post": await post}
            while not self.tickets or not self.tokens:
                await asyncio.sleep(0.01)
        return said

    async def early(self, ticket):
        """None where the server does not take the session."""
        async with self.call(ticket) as client:
            post = client.ask(b"POST", self.authority, self.fields, b"hi")
            get = client.ask(b"GET", self.authority, self.fields)
            client.transmit()
            client.held = True
            try:
                if not await client.accepted:
                    # Nothing of it is to be sent again.
                    get.cancel()
                    post.cancel()
                    client.close()
                    return None
                said = {"early_get": await get, "post_waited": not post.done()}
            finally:
                client.held = False
                client.transmit()
            said["early_post"] = await post
            return said


async def main():
    address, certificate, field = sys.argv[1:]
    with open(field, encoding="ascii") as file:
        caller = Caller(address, certificate, file.read())
    for attempt in range(1, ATTEMPTS + 1):
        said = await asyncio.wait_for(caller.plainly(), PATIENCE)
        said["connections"] = attempt
        ticket = caller.tickets[-1]
        # The session may not be in the server's store yet.
        await asyncio.sleep(0.1)
        early = await asyncio.wait_for(caller.early(ticket), PATIENCE)
        if early is not None:
            said.update(early)
            said["replay"] = await asyncio.wait_for(caller.early(ticket), PATIENCE)
            break
    json.dump(said, sys.stdout)


asyncio.run(main())
