"""Every kind of client: each is a thread that asks, checks the answer, counts it and sleeps."""

import dataclasses
import hashlib
import json
import pathlib
import random
import ssl
import subprocess
import threading
import time

from harness.soak_backend import pattern
from harness.soak_book import Book, Session
from harness.soak_wire import Answer, Broken, Wire, request

OLD_CERTIFICATE = 10  # seconds for which a replaced certificate may still be shown
MIB = 1 << 20


@dataclasses.dataclass
class Scene:
    book: Book
    http: int
    https: int
    authority: pathlib.Path
    place: pathlib.Path
    roundtrip: str
    sessions: list = dataclasses.field(default_factory=list)
    bad: dict = dataclasses.field(default_factory=dict)  # what is wrong with it: a field
    passing: Session | None = None  # the session that is revoked next
    gone: list = dataclasses.field(default_factory=list)
    certificate: tuple = (0, 0.0)  # its serial number, and since when
    over: threading.Event = dataclasses.field(default_factory=threading.Event)


class Client:
    """One of some kind, with random numbers and connections of its own."""

    def __init__(self, scene, kind, pause, seed):
        self.scene, self.book, self.kind, self.pause = scene, scene.book, kind, pause
        self.random, self.wire, self.tls_session, self.rounds = random.Random(seed), None, None, 0

    def run(self):
        while not self.scene.over.wait(self.random.uniform(0.5, 1.5) * self.pause):
            try:
                self.turn()
            except Broken:
                self.drop()
            except Exception as error:  # a client of ours that ends early would be a soak without it
                self.book.is_wrong("a client of the soak failed", f"{self.kind}: {error!r}")
                self.drop()
        self.drop()

    def turn(self):
        raise NotImplementedError

    def someone(self):
        return self.random.choice(self.scene.sessions)

    def drop(self, reset=False):
        if self.wire:
            self.wire.close(reset)
        self.wire = None

    def exchange(self, session, method="GET", path="/echo", body=b"", raw=None):
        """Asks over what is open, or opens it; `raw` sends the body by itself. The answer was looked at."""
        identity = self.book.identity(self.kind)
        sent = time.monotonic()
        try:
            self.wire = self.wire or self.open()
            if raw:
                raw(identity, fields(identity, session))
            else:
                self.wire.ask(method, path, fields(identity, session), body)
            answer = self.wire.answer(method)
        except Broken as error:
            self.befell(identity, method, str(error), session.ends(sent))
            raise
        self.look(identity, session, method, body, answer, sent)
        if answer.closes:
            self.drop()
        return answer

    def open(self):
        return Wire.open(self.scene.http)

    def befell(self, identity, method, what, left=False):
        self.book.saw(self.kind, what, left)
        if method == "POST":
            self.book.post(identity, what)

    def look(self, identity, session, method, body, answer, sent):
        """Checks that the answer is for this request, and that its session may have it."""
        heard = time.monotonic()
        self.befell(identity, method, answer.status)
        if answer.status in (401, 403) and session.sid and not session.ends(sent):
            self.book.is_wrong("valid session refused", f"{identity}: {answer.status} {answer.body[:100]!r}")
        if not 200 <= answer.status < 300:
            return
        if not session.sid:
            return self.book.is_wrong("let in without a session", f"{identity}: {session.token}")
        self.book.served(session, sent, heard)
        user = self.whose(identity, session, answer, sent)
        if user and answer.headers.get("content-type") == "application/json" and method != "HEAD":
            found, digest = json.loads(answer.body), hashlib.sha256(body).hexdigest()
            if found != {"id": identity, "user": user, "method": method, "bytes": len(body), "digest": digest}:
                self.book.is_wrong("mixed-up answer", f"{identity} of {session.sid}, {method} with {len(body)} bytes: {found}")

    def whose(self, identity, session, answer, sent):
        """The user by whose credentials it was got, where those may be used for it."""
        user = answer.headers.get("x-soak-user")
        if answer.headers.get("x-soak-id") != identity or user not in (session.user, session.former):
            return self.book.is_wrong("mixed-up answer", f"{identity} of {session.user}: {answer.headers}")
        if not session.is_of(user, sent):
            self.book.is_wrong("credentials from before a change", f"{identity}: {user} {sent - session.changed:.3f} s after")
        return user


def fields(identity, session):
    return {"X-Soak-Id": identity} | ({session.field: session.token} if session.field else {})


class Kept(Client):
    def turn(self):
        self.exchange(self.someone(), self.random.choice(["GET", "GET", "HEAD", "DELETE"]))


class New(Client):
    def turn(self):
        self.exchange(self.someone())
        self.drop(self.random.random() < 0.2)


class Posts(Client):
    def turn(self):
        self.exchange(self.someone(), "POST", body=self.random.randbytes(self.random.randint(1, 3000)))


class Pipelined(Client):
    """Four requests in one piece, of which two are POSTs of different sessions."""

    def turn(self):
        self.wire = self.wire or self.open()
        asked = []
        for method in ["GET", "POST", "HEAD", "POST"]:
            body = self.random.randbytes(500) if method == "POST" else b""
            asked.append((self.book.identity(self.kind), self.someone(), method, body))
        sent = time.monotonic()
        self.wire.send(b"".join(request(method, "/echo", fields(identity, session), body) for identity, session, method, body in asked))
        for number, (identity, session, method, body) in enumerate(asked):
            try:
                answer = self.wire.answer(method)
            except Broken as error:
                for identity, session, method, _ in asked[number:]:
                    self.befell(identity, method, str(error), session.ends(sent))
                raise
            self.look(identity, session, method, body, answer, sent)
            if answer.closes:
                for identity, _, method, _ in asked[number + 1:]:
                    self.befell(identity, method, "not answered: close", left=True)
                return self.drop()


class Tls(Client):
    """A connection each; every other client of this kind resumes what it had before."""

    resumes = False

    def __init__(self, *words):
        super().__init__(*words)
        self.context = ssl.create_default_context(cafile=self.scene.authority)

    def open(self):
        began = time.monotonic()
        wire = Wire.open(self.scene.https, self.context, self.tls_session if self.resumes else None)
        self.book.fact("TLS handshakes resumed" if wire.socket.session_reused else "TLS handshakes in full")
        serial, since = self.scene.certificate
        if not wire.socket.session_reused:
            shown = int(wire.socket.getpeercert()["serialNumber"], 16)
            if shown != serial and began > since + OLD_CERTIFICATE:
                self.book.is_wrong("old certificate shown", f"{shown:x} {began - since:.1f} s after {serial:x} replaced it")
        return wire

    def turn(self):
        self.exchange(self.someone())
        if self.wire:
            self.tls_session = self.wire.socket.session
        self.drop()


class Resumed(Tls):
    resumes = True


class H2(Client):
    """Some streams at once, over a connection that is kept for some rounds; one of them may be given up."""

    def __init__(self, *words):
        super().__init__(*words)
        self.context = ssl.create_default_context(cafile=self.scene.authority)
        self.context.set_alpn_protocols(["h2"])
        self.streams = {}

    def open(self):
        import h2.config
        import h2.connection
        wire = Wire.open(self.scene.https, self.context)
        if wire.socket.selected_alpn_protocol() != "h2":
            raise Broken("no h2")
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.h2.initiate_connection()
        wire.send(self.h2.data_to_send())
        return wire

    def turn(self):
        self.rounds += 1
        self.streams = {}
        try:
            self.wire = self.wire or self.open()
            for method, path in [("GET", "/echo"), ("POST", "/echo"), ("GET", "/think?ms=50"), ("GET", "/large?bytes=200000"), ("POST", "/echo")]:
                self.begin(method, path)
            if self.random.random() < 0.3:
                self.give_up()
            while self.streams:
                self.pump()
        except Broken as error:
            for identity, session, method, _, _, sent, _ in self.streams.values():
                self.befell(identity, method, str(error), session.ends(sent))
            raise
        if self.rounds % 10 == 0:
            self.drop()

    def begin(self, method, path):
        session, identity = self.someone(), self.book.identity(self.kind)
        body = self.random.randbytes(4000) if method == "POST" else b""
        stream = self.h2.get_next_available_stream_id()
        self.streams[stream] = (identity, session, method, path, body, time.monotonic(), Answer(0, {}))
        head = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
        self.h2.send_headers(stream, head + [(name.lower(), value) for name, value in fields(identity, session).items()], end_stream=not body)
        while body and stream in self.streams and self.h2.local_flow_control_window(stream) < len(body):
            self.pump()
        if body and stream in self.streams:
            self.h2.send_data(stream, body, end_stream=True)
        self.wire.send(self.h2.data_to_send())

    def give_up(self):
        stream = self.random.choice(list(self.streams))
        identity, _, method, *_ = self.streams.pop(stream)
        self.h2.reset_stream(stream, 8)
        self.wire.send(self.h2.data_to_send())
        self.befell(identity, method, "left", left=True)

    def pump(self):
        import h2.events
        self.wire.more()
        data, self.wire.kept = self.wire.kept, b""
        for event in self.h2.receive_data(data):
            stream = getattr(event, "stream_id", None)
            if isinstance(event, h2.events.DataReceived):
                self.h2.acknowledge_received_data(event.flow_controlled_length, stream)
            if isinstance(event, h2.events.ConnectionTerminated):
                raise Broken(f"GOAWAY {int(event.error_code)}")
            if stream in self.streams:
                self.take(stream, event, h2.events)
        self.wire.send(self.h2.data_to_send())

    def take(self, stream, event, kinds):
        identity, session, method, path, body, sent, answer = self.streams[stream]
        if isinstance(event, kinds.ResponseReceived):
            answer.headers = dict(event.headers)
            answer.status = int(answer.headers[":status"])
        elif isinstance(event, kinds.DataReceived):
            answer.body += event.data
        elif isinstance(event, kinds.StreamReset):
            del self.streams[stream]
            self.befell(identity, method, f"RST_STREAM {int(event.error_code)}", session.ends(sent))
        elif isinstance(event, kinds.StreamEnded):
            del self.streams[stream]
            self.look(identity, session, method, body, answer, sent)
            if answer.status == 200 and path.startswith("/large") and answer.body != pattern(identity, 200000):
                self.book.is_wrong("mixed-up answer", f"{identity}: another body")


class H3(Client):
    """`roundtrip probe`, a process and a connection each."""

    def turn(self):
        session, identity = self.someone(), self.book.identity(self.kind)
        body = self.scene.place / f"h3-{threading.get_ident()}"
        method = self.random.choice(["GET", "POST"])
        data = b"what h3 posts" if method == "POST" else b""
        words = [self.scene.roundtrip, "probe", "--http3", "--cold", "--cacert", self.scene.authority, "-q", "-o", body, "-w", "%{http_code}", "-X", method]
        for name, value in (fields(identity, session) | ({"Content-Type": "application/octet-stream"} if data else {})).items():
            words += ["-H", f"{name}: {value}"]
        words += ["-d", data.decode()] if data else []
        sent = time.monotonic()
        done = subprocess.run(list(map(str, [*words, f"https://localhost:{self.scene.https}/echo"])), capture_output=True, text=True, timeout=90)
        status = int(done.stdout.strip() or 0)
        if done.returncode or not status:
            self.befell(identity, method, "broken", session.ends(sent))
            return self.book.fact(f"h3: {done.stderr.strip()[-120:]}")
        said = body.read_bytes()
        told = json.loads(said) if status == 200 else {}  # the same is in its head, which is not shown
        headers = {"x-soak-id": told.get("id"), "x-soak-user": told.get("user"), "content-type": "application/json"}
        self.look(identity, session, method, data, Answer(status, headers, said), sent)


class Counted(Client):
    def turn(self):
        self.exchange(self.someone(), "POST", body=self.random.randbytes(self.random.randint(1, 512 << 10)))


class Chunked(Client):
    def turn(self):
        pieces = [self.random.randbytes(self.random.randint(1, 30000)) for _ in range(self.random.randint(1, 8))]

        def raw(_identity, told):
            self.wire.send(request("POST", "/echo", told | {"Transfer-Encoding": "chunked"}))
            for piece in pieces:
                self.wire.send(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wire.send(b"0\r\n\r\n")
        self.exchange(self.someone(), "POST", body=b"".join(pieces), raw=raw)


class Trickled(Client):
    def turn(self):
        body = self.random.randbytes(6000)

        def raw(_identity, told):
            self.wire.send(request("POST", "/echo", told | {"Content-Length": str(len(body))}))
            for at in range(0, len(body), 500):
                self.scene.over.wait(0.25)
                self.wire.send(body[at:at + 500])
        self.exchange(self.someone(), "POST", body=body, raw=raw)


class AbortedUpload(Client):
    def turn(self):
        self.wire, identity, session = self.open(), self.book.identity(self.kind), self.someone()
        length = self.random.choice([20_000, 400_000])
        self.wire.send(request("POST", "/echo", fields(identity, session) | {"Content-Length": str(length)}) + self.random.randbytes(length // 2))
        self.scene.over.wait(self.random.uniform(0, 0.3))
        self.drop(self.random.random() < 0.5)
        self.befell(identity, "POST", "left", left=True)


class Download(Client):
    size = 2 * MIB

    def turn(self):
        identity, session, sent = self.book.identity(self.kind), self.someone(), time.monotonic()
        try:
            self.wire = self.wire or self.open()
            self.wire.ask("GET", f"/large?bytes={self.size}", fields(identity, session))
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
        """How many bytes there were; None when we had enough before the end."""
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


class AbortedDownload(Download):
    size = 16 * MIB

    def read(self, answer, identity, enough=None):
        return super().read(answer, identity, self.random.randint(1, MIB))


class Leaves(Client):
    """Goes away while the backend thinks."""

    def turn(self):
        self.wire, identity, session = self.open(), self.book.identity(self.kind), self.someone()
        method = self.random.choice(["GET", "POST"])
        self.wire.ask(method, "/think?ms=800", fields(identity, session), b"thought" if method == "POST" else b"")
        self.scene.over.wait(self.random.uniform(0, 0.5))
        self.drop(self.random.random() < 0.5)
        self.befell(identity, method, "left", left=True)


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
    """One that is open until its session is revoked."""

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
    """A WebSocket: some words, each said again, and a close."""

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
            self.say(1, said)
            if self.wire.exactly(2 + len(said)) != bytes([0x81, len(said)]) + said:
                self.book.is_wrong("mixed-up answer", f"{identity}: another WebSocket's words")
            self.book.fact("WebSocket messages")
            self.scene.over.wait(0.2)
        if self.random.random() < 0.7:
            self.say(8, b"\x03\xe8")
            self.wire.exactly(4)

    def say(self, kind, payload):
        mask = self.random.randbytes(4)
        self.wire.send(bytes([0x80 | kind, 0x80 | len(payload)]) + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload)))


class Bad(Client):
    """Tokens that gate must refuse, and requests without one."""

    def turn(self):
        name, session = self.random.choice(list(self.scene.bad.items()))
        self.book.fact(f"bad tokens: {name}")
        self.exchange(session, self.random.choice(["GET", "POST"]), body=b"")


class Revoked(Client):
    """Asks for the session that is revoked next, and for those that were."""

    def turn(self):
        gone = self.scene.gone
        session = self.random.choice(gone) if gone and self.random.random() < 0.3 else self.scene.passing
        self.exchange(session)


# kind: (its class, how many of them, seconds between two turns)
KINDS = {
    "h1 kept": (Kept, 2, 0.12), "h1 new": (New, 1, 0.25), "h1 pipelined": (Pipelined, 1, 0.5), "h1 POST": (Posts, 2, 0.06),
    "TLS full": (Tls, 1, 0.5), "TLS resumed": (Resumed, 1, 0.4), "h2": (H2, 2, 0.6), "h3": (H3, 1, 2.0),
    "upload counted": (Counted, 1, 0.6), "upload chunked": (Chunked, 1, 0.5), "upload trickled": (Trickled, 2, 0.5), "upload aborted": (AbortedUpload, 1, 0.4),
    "download": (Download, 1, 1.5), "download aborted": (AbortedDownload, 1, 0.6), "WebSocket": (Socket, 2, 0.3), "events": (Events, 2, 0.3),
    "bad token": (Bad, 1, 0.25), "left while it thinks": (Leaves, 2, 0.4), "revoked": (Revoked, 2, 0.06), "revoked events": (RevokedEvents, 1, 0.1),
}


def start(scene, seed):
    """All of them, each in a thread; they end when `scene.over` is set."""
    threads = []
    for kind, (client, count, pause) in KINDS.items():
        for number in range(count):
            thread = threading.Thread(target=client(scene, kind, pause, f"{seed} {kind} {number}").run, daemon=True, name=kind)
            thread.start()
            threads.append(thread)
    return threads

