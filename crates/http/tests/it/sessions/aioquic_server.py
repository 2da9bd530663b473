"""Answers each GET of /bytes/N by N bytes: aioquic_server.py WISH.

WISH is nothing, or retry (each client proves its address first). Needs aioquic, and certificate.pem and key.pem where it is
started. Writes its port, and then a line for each request: whether it came as early data, and its path.
"""

import asyncio
import sys

from aioquic.asyncio import serve
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import HandshakeCompleted, ProtocolNegotiated

PATIENCE = 60


class Server(QuicConnectionProtocol):
    http = None
    when = "early"

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        if isinstance(event, HandshakeCompleted):
            self.when = "late"
        for heard in self.http.handle_event(event) if self.http else []:
            if isinstance(heard, HeadersReceived):
                self.answer(heard.stream_id, dict(heard.headers)[b":path"].decode())

    def answer(self, stream, path):
        print(self.when, path, flush=True)
        self.http.send_headers(stream, [(b":status", b"200")])
        self.http.send_data(stream, bytes(int(path.rsplit("/", 1)[1])), True)
        self.transmit()


async def main():
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"])
    configuration.load_cert_chain("certificate.pem", "key.pem")
    tickets = {}
    server = await serve(
        "127.0.0.1",
        0,
        configuration=configuration,
        create_protocol=Server,
        session_ticket_fetcher=lambda label: tickets.pop(label, None),
        session_ticket_handler=lambda ticket: tickets.update({ticket.ticket: ticket}),
        retry=sys.argv[1] == "retry",
    )
    print(server._transport.get_extra_info("sockname")[1], flush=True)
    await asyncio.sleep(PATIENCE)


asyncio.run(main())
