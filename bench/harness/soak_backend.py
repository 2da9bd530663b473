"""A backend whose every answer names its request, and which records what it saw: `python3 soak_backend.py
NAME PORT JOURNAL`.

Each request has an id (`x-soak-id`). The answer gives the id and the user set by gate, in its head and in its
body. The journal gets a line when a head has arrived (`H id`), and one when its body has too (`D id`), both
before the answer.
    /echo             what arrived: the number of bytes, and their digest
    /think?ms=N       the same, N ms later
    /large?bytes=N    N bytes of a pattern that depends on the id
    /events           an event stream that does not end
    /socket           a WebSocket that echoes
    /grpc             what arrived, with the status in a trailer
"""

import asyncio
import base64
import hashlib
import json
import os
import signal
import sys
import urllib.parse

WEBSOCKET = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
BEAT = 0.25  # seconds between two events
TURN = 1 << 16


def pattern(identity, length):
    block = hashlib.sha512(identity.encode()).digest()
    return (block * (length // len(block) + 1))[:length]


def user(headers):
    scheme, _, word = headers.get("authorization", "").partition(" ")
    return base64.b64decode(word).decode().partition(":")[0] if scheme == "Basic" else headers.get("x-auth-request-user", "")


class Backend:
    def __init__(self, name, journal):
        self.name, self.journal = name, os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(self, word, identity):
        os.write(self.journal, f"{word} {identity} {self.name}\n".encode())

    async def serve(self, reader, writer):
        try:
            while await self.exchange(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass
        finally:
            writer.close()

    async def exchange(self, reader, writer):
        """Handles one request; returns True if another may follow."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        identity, path = headers.get("x-soak-id", ""), urllib.parse.urlsplit(target)
        words = dict(urllib.parse.parse_qsl(path.query))
        self.note("H", identity)
        digest, length, pieces = hashlib.sha256(), 0, []
        if headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        async for piece in body(reader, headers):
            digest.update(piece)
            length += len(piece)
            pieces += [piece] if path.path == "/grpc" else []
        self.note("D", identity)
        fields = {"x-soak-id": identity, "x-soak-user": user(headers), "x-soak-server": self.name,
                  "x-soak-settings": headers.get("x-soak-settings", "")}
        if path.path == "/events":
            return await self.events(writer, fields, identity)
        if path.path == "/socket":
            return await self.socket(reader, writer, fields, headers)
        if path.path == "/grpc":
            return await call(writer, fields, pieces)
        if path.path == "/large":
            return await large(writer, fields, identity, int(words["bytes"]))
        if path.path == "/think":
            await asyncio.sleep(int(words["ms"]) / 1000)
        said = {"id": identity, "user": user(headers), "method": method, "bytes": length, "digest": digest.hexdigest()}
        text = json.dumps(said).encode()
        writer.write(answer("200 OK", fields | {"content-type": "application/json", "content-length": str(len(text))}))
        writer.write(b"" if method == "HEAD" else text)
        await writer.drain()
        return True

    async def events(self, writer, fields, identity):
        writer.write(answer("200 OK", fields | {"content-type": "text/event-stream", "transfer-encoding": "chunked"}))
        number = 0
        while not writer.is_closing():
            event = f"data: {identity} {number}\n\n".encode()
            writer.write(b"%x\r\n%b\r\n" % (len(event), event))
            await writer.drain()
            await asyncio.sleep(BEAT)
            number += 1
        return False

    async def socket(self, reader, writer, fields, headers):
        accept = base64.b64encode(hashlib.sha1(headers["sec-websocket-key"].encode() + WEBSOCKET).digest()).decode()
        writer.write(answer("101 Switching Protocols", fields | {"upgrade": "websocket", "connection": "Upgrade", "sec-websocket-accept": accept}))
        while True:
            first, second = await reader.readexactly(2)
            length = second & 0x7F
            if length > 125:
                return False
            mask = await reader.readexactly(4)
            said = bytes(byte ^ mask[i % 4] for i, byte in enumerate(await reader.readexactly(length)))
            writer.write(bytes([first, length]) + said)
            await writer.drain()
            if first & 0x0F == 8:
                return False


def answer(status, fields):
    return f"HTTP/1.1 {status}\r\n{''.join(f'{name}: {value}{chr(13)}{chr(10)}' for name, value in fields.items())}\r\n".encode()


async def body(reader, headers):
    if headers.get("transfer-encoding", "").lower() == "chunked":
        while length := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            while length:
                piece = await reader.read(min(length, TURN))
                if not piece:
                    raise asyncio.IncompleteReadError(b"", length)
                length -= len(piece)
                yield piece
            await reader.readexactly(2)
        while await reader.readuntil(b"\r\n") != b"\r\n":
            pass
        return
    length = int(headers.get("content-length", 0))
    while length:
        piece = await reader.read(min(length, TURN))
        if not piece:
            raise asyncio.IncompleteReadError(b"", length)
        length -= len(piece)
        yield piece


async def large(writer, fields, identity, length):
    writer.write(answer("200 OK", fields | {"content-length": str(length)}))
    for at in range(0, length, TURN):
        # The pattern repeats within each chunk, so every chunk begins like the first.
        writer.write(pattern(identity, min(TURN, length - at)))
        await writer.drain()
    return True


async def call(writer, fields, pieces):
    writer.write(answer("200 OK", fields | {"content-type": "application/grpc", "transfer-encoding": "chunked", "trailer": "grpc-status"}))
    for piece in pieces:
        writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
    writer.write(b"0\r\ngrpc-status: 0\r\n\r\n")
    await writer.drain()
    return True


async def main():
    name, port, journal = sys.argv[1:4]
    server = await asyncio.start_server(Backend(name, journal).serve, "127.0.0.1", int(port), limit=1 << 17, backlog=512)
    ended = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: ended.done() or ended.set_result(None))
    async with server:
        await ended


if __name__ == "__main__":
    asyncio.run(main())
