"""Clients of a soak with long exchanges: uploads, downloads, event streams and WebSockets."""

import socket
import time

from harness.soak_backend import pattern
from harness.soak_client import Client, fields
from harness.soak_requests import H2
from harness.soak_wire import Answer, Broken, request

MIB = 1 << 20


class Counted(Client):
    def turn(self):
        self.exchange(self.someone(), "POST", body=self.random.randbytes(self.random.randint(1, 512 << 10)))


class Buffered(Counted):
    route = "/buffered"


class CountedToH2(Counted):
    route = "/h2"


class Chunked(Client):
    def turn(self):
        pieces = [self.random.randbytes(self.random.randint(1, 30000)) for _ in range(self.random.randint(1, 8))]

        def raw(_identity, told):
            self.wire.send(request("POST", "/echo", told | {"Transfer-Encoding": "chunked"}))
            for piece in pieces:
                self.wire.send(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wire.send(b"0\r\n\r\n")
        self.exchange(self.someone(), "POST", body=b"".join(pieces), raw=raw)


class Expecting(Client):
    """Sends its body when it is asked for it."""

    def turn(self):
        body = self.random.randbytes(self.random.randint(1, 100_000))

        def raw(_identity, told):
            self.wire.send(request("POST", "/echo", told | {"Content-Length": str(len(body)), "Expect": "100-continue"}))
            first = self.wire.until(b"\r\n\r\n")
            if first.startswith(b"HTTP/1.1 100"):
                return self.wire.send(body)
            self.wire.kept = first + b"\r\n\r\n" + self.wire.kept
        self.exchange(self.someone(), "POST", body=body, raw=raw)


class Trickled(Client):
    """Sends its body slowly, unless an answer comes meanwhile: the time of a failure shows its possible causes."""

    def turn(self):
        body = self.random.randbytes(6000)

        def raw(_identity, told):
            self.wire.send(request("POST", "/echo", told | {"Content-Length": str(len(body))}))
            for at in range(0, len(body), 500):
                self.scene.over.wait(0.25)
                if self.wire.has_answer():
                    break
                self.wire.send(body[at:at + 500])
        self.exchange(self.someone(), "POST", body=body, raw=raw)


class AbortedUpload(Client):
    def turn(self):
        self.wire, identity, session = self.open(), self.book.identity(self.kind), self.someone()
        length = self.random.choice([20_000, 400_000])
        self.wire.send(request("POST", f"{self.route}/echo", fields(identity, session) | {"Content-Length": str(length)}) + self.random.randbytes(length // 2))
        self.scene.over.wait(self.random.uniform(0, 0.3))
        self.drop(self.random.random() < 0.5)
        self.befell(identity, "POST", "left", left=True)


class AbortedUploadToH2(AbortedUpload):
    route = "/h2"


class Download(Client):
    size = 2 * MIB

    def turn(self):
        identity, session, sent = self.book.identity(self.kind), self.someone(), time.monotonic()
        try:
            self.wire = self.wire or self.open()
            self.wire.ask("GET", f"{self.route}/large?bytes={self.size}", fields(identity, session))
            answer = self.wire.head()
            at = self.read(answer, identity)
        except Broken as error:
            self.befell(identity, "GET", str(error), session.ends(sent))
            raise
        if at is None:
            self.befell(identity, "GET", "left", left=True)
            return self.drop(self.random.random() < 0.5)
        self.look(identity, session, "GET", b"", answer, sent)
        if answer.closes:
            self.drop()

    def read(self, answer, identity, enough=None):
        """Returns the number of bytes; None if the client stopped before the end."""
        expected, at = pattern(identity, 1 << 17), 0
        for piece in self.wire.body(answer):
            begin = at % 64
            if answer.status == 200 and piece != expected[begin:begin + len(piece)]:
                self.book.is_wrong("mixed-up answer", f"{identity}: another body at {at}")
            at += len(piece)
            if enough is not None and at >= enough:
                return None
            if answer.status == 200 and at % MIB == 0:
                self.scene.over.wait(0.02)
        return at


class DownloadFromH2(Download):
    route = "/h2"


class AbortedDownload(Download):
    size = 16 * MIB

    def read(self, answer, identity, enough=None):
        return super().read(answer, identity, self.random.randint(1, MIB))


class AbortedDownloadFromH2(AbortedDownload):
    route = "/h2"


class SlowDownload(Download):
    """Reads 800 bytes a second, and leaves after some seconds."""

    size = 16 * MIB

    def open(self):
        wire = super().open()
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        return wire

    def read(self, answer, identity, enough=None):
        if answer.status != 200:
            return super().read(answer, identity)
        until = time.monotonic() + self.random.uniform(2, 8)
        while time.monotonic() < until and not self.scene.over.wait(0.1):
            try:
                if not self.wire.socket.recv(80):
                    break
            except OSError:
                break
        return None


class Events(Client):
    """An event stream of some seconds."""

    def turn(self):
        self.follow(self.someone(), time.monotonic() + self.random.uniform(1, 8))

    def follow(self, session, until):
        identity, number, sent = self.book.identity(self.kind), 0, time.monotonic()
        try:
            self.wire = self.open()
            self.wire.ask("GET", "/events", fields(identity, session))
            answer = self.wire.head()
            if answer.status != 200:
                answer.body = b"".join(self.wire.body(answer))
            self.look(identity, session, "GET", b"", answer, sent)
            if answer.status != 200:
                return self.drop()
            for event in self.wire.body(answer):
                if event != f"data: {identity} {number}\n\n".encode():
                    self.book.is_wrong("mixed-up answer", f"{identity}: event {event!r}")
                number += 1
                self.book.fact("events")
                self.heard(session)
                if self.scene.over.is_set() or time.monotonic() > until:
                    break
            self.drop()
        except Broken as error:
            self.ended(session, sent, str(error))
            raise

    def heard(self, session):
        pass

    def ended(self, session, sent, what):
        self.book.saw(self.kind, what, session.ends(sent))


class RevokedEvents(Events):
    """An event stream that stays open until its session is revoked."""

    def turn(self):
        self.follow(self.scene.passing, time.monotonic() + 600)

    def heard(self, session):
        now = time.monotonic()
        if session.revoked and now - session.revoked > session.within:
            self.book.is_wrong("stream goes on after revocation", f"{session.sid}: {now - session.revoked:.3f} s after")
            raise Broken("goes on")

    def ended(self, session, sent, what):
        if not session.leaving:
            return super().ended(session, sent, what)
        self.book.saw(self.kind, "ended with its session", left=True)
        self.book.ended(session, max(0.0, time.monotonic() - (session.revoked or time.monotonic())))


class Socket(Client):
    """A WebSocket: some words, each echoed, and a close."""

    def turn(self):
        identity, session, sent = self.book.identity(self.kind), self.someone(), time.monotonic()
        try:
            self.wire = self.open()
            upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "c29hay1zb2FrLXNvYWsxMg=="}
            self.wire.ask("GET", "/socket", fields(identity, session) | upgrade)
            answer = self.wire.answer()
            self.look(identity, session, "GET", b"", answer, sent)
            if answer.status == 101:
                self.book.served(session, sent, time.monotonic())
                self.whose(identity, session, answer, sent)
                self.talk(identity)
            self.drop()
        except Broken as error:
            self.befell(identity, "GET", str(error), session.ends(sent))
            raise

    def talk(self, identity):
        for number in range(self.random.randint(1, 6)):
            said = f"{identity} {number}".encode()
            self.say(self.frame(1, said))
            if self.hear(2 + len(said)) != bytes([0x81, len(said)]) + said:
                self.book.is_wrong("mixed-up answer", f"{identity}: another WebSocket's words")
            self.book.fact("WebSocket messages")
            self.scene.over.wait(0.2)
        if self.random.random() < 0.7:
            self.say(self.frame(8, b"\x03\xe8"))
            self.hear(4)

    def frame(self, kind, payload):
        mask = self.random.randbytes(4)
        return bytes([0x80 | kind, 0x80 | len(payload)]) + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))

    def say(self, data):
        self.wire.send(data)

    def hear(self, count):
        return self.wire.exactly(count)


class SocketOverH2(Socket, H2):
    """A WebSocket on a stream of HTTP/2 (RFC 8441)."""

    def turn(self):
        identity, session, sent = self.book.identity(self.kind), self.someone(), time.monotonic()
        self.reply, self.heard, self.is_over, self.streams = Answer(0, {}), b"", False, {}
        try:
            self.wire = self.open()
            while not self.h2.remote_settings.enable_connect_protocol:
                self.pump()
            self.stream = self.h2.get_next_available_stream_id()
            self.streams[self.stream] = True
            head = {":method": "CONNECT", ":protocol": "websocket", ":scheme": "https", ":authority": "localhost", ":path": "/socket", "sec-websocket-version": "13"}
            self.h2.send_headers(self.stream, list((head | {name.lower(): value for name, value in fields(identity, session).items()}).items()))
            self.wire.send(self.h2.data_to_send())
            while not self.reply.status:
                self.pump()
            self.look(identity, session, "GET", b"", self.reply, sent)
            if self.reply.status == 200:
                self.talk(identity)
            self.drop()
        except Broken as error:
            self.befell(identity, "GET", str(error), session.ends(sent))
            raise

    def say(self, data):
        self.h2.send_data(self.stream, data)
        super().say(self.h2.data_to_send())

    def hear(self, count):
        while len(self.heard) < count:
            if self.is_over:
                raise Broken("closed")
            self.pump()
        found, self.heard = self.heard[:count], self.heard[count:]
        return found

    def take(self, stream, event, kinds):
        if isinstance(event, kinds.ResponseReceived):
            self.reply.headers = dict(event.headers)
            self.reply.status = int(self.reply.headers[":status"])
        elif isinstance(event, kinds.DataReceived):
            self.heard += event.data
        elif isinstance(event, kinds.StreamEnded):
            self.is_over = True
        elif isinstance(event, kinds.StreamReset) and not self.is_over:
            # After the end, it only means that nobody reads what the client still sends (RFC 9113 §8.1).
            raise Broken(f"RST_STREAM {int(event.error_code)}")
