"""POST with trailers over HTTP/3: h3_trailers.py MODULES PORT CERTIFICATE. Writes what it understood as JSON."""

import asyncio
import json
import sys

sys.path.insert(0, sys.argv[1])

from aioquic.asyncio.client import connect  # noqa: E402
from aioquic.asyncio.protocol import QuicConnectionProtocol  # noqa: E402
from aioquic.h3.connection import H3_ALPN, H3Connection  # noqa: E402
from aioquic.h3.events import DataReceived, HeadersReceived  # noqa: E402
from aioquic.quic.configuration import QuicConfiguration  # noqa: E402
from aioquic.quic.events import ConnectionTerminated  # noqa: E402

PATIENCE = 60


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.sections, self.body = [], bytearray()
        self.whole = asyncio.get_running_loop().create_future()

    def ask(self, port):
        stream = self._quic.get_next_available_stream_id()
        head = {":method": "POST", ":scheme": "https", ":authority": f"localhost:{port}", ":path": "/", "te": "trailers"}
        trailers = {"x-sum": "up", "authorization": "Basic ZXZpbDo=", "x-forwarded-for": "203.0.113.9"}
        self.http.send_headers(stream, encoded(head))
        self.http.send_data(stream, b"up", end_stream=False)
        self.http.send_headers(stream, encoded(trailers), end_stream=True)
        self.transmit()

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated) and not self.whole.done():
            self.whole.set_exception(ConnectionError(event.reason_phrase))
        for part in self.http.handle_event(event):
            if isinstance(part, HeadersReceived):
                self.sections.append({name.decode(): value.decode() for name, value in part.headers})
            elif isinstance(part, DataReceived):
                self.body += part.data
            if part.stream_ended and not self.whole.done():
                self.whole.set_result(None)


def encoded(fields):
    return [(name.encode(), value.encode()) for name, value in fields.items()]


async def main():
    _, _, port, certificate = sys.argv
    settings = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, server_name="localhost")
    settings.load_verify_locations(certificate)
    async with connect("127.0.0.1", int(port), configuration=settings, create_protocol=Client) as client:
        client.ask(port)
        await asyncio.wait_for(client.whole, PATIENCE)
        head, *trailers = client.sections
        said = {"status": int(head[":status"]), "told": json.loads(client.body), "trailers": (trailers or [{}])[0]}
        json.dump(said, sys.stdout)


asyncio.run(main())
