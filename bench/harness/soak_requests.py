"""Clients of a soak that differ in how they connect and what they present: versions of HTTP, TLS, tokens."""

import json
import ssl
import subprocess
import threading
import time

from harness.soak_backend import pattern
from harness.soak_client import Client, fields
from harness.soak_wire import Answer, Broken, Wire, request

OLD_CERTIFICATE = 10  # seconds for which a replaced certificate may still be used


class Kept(Client):
    def turn(self):
        self.exchange(self.someone(), self.random.choice(["GET", "GET", "HEAD", "DELETE"]))


class New(Client):
    def turn(self):
        self.exchange(self.someone())
        self.drop(self.random.random() < 0.2)


class Old(Client):
    """HTTP/1.0: a connection for each request."""

    def turn(self):
        def raw(_identity, told):
            self.wire.send(request("GET", "/echo", told).replace(b"HTTP/1.1", b"HTTP/1.0", 1))
        self.exchange(self.someone(), raw=raw)
        self.drop()


class Posts(Client):
    def turn(self):
        self.exchange(self.someone(), "POST", body=self.random.randbytes(self.random.randint(1, 3000)))


class Pipelined(Client):
    """Four requests in one write; two of them are POSTs with different sessions."""

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
    """One connection for each request; every other client of this kind resumes its earlier session."""

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
    """Some streams at once, over a connection that is kept for some rounds; one of them may be cancelled."""

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
            self.broke(error)
            raise
        if self.rounds % 10 == 0:
            self.drop()

    def broke(self, error):
        for identity, session, method, _, _, sent, _ in self.streams.values():
            self.befell(identity, method, str(error), session.ends(sent))

    def begin(self, method, path):
        session, identity = self.someone(), self.book.identity(self.kind)
        body = self.random.randbytes(4000) if method == "POST" else b""
        stream = self.h2.get_next_available_stream_id()
        self.streams[stream] = (identity, session, method, path, body, time.monotonic(), Answer(0, {}))
        head = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", self.route + path)]
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


class KeptToH2(Kept):
    route = "/h2"


class PostsToH2(Posts):
    route = "/h2"


class H2ToH2(H2):
    route = "/h2"


class NoWindow(H2):
    """Takes nothing of its answers for some seconds: its window is 0."""

    def open(self):
        wire = super().open()
        self.h2.update_settings({4: 0})  # INITIAL_WINDOW_SIZE
        wire.send(self.h2.data_to_send())
        return wire

    def turn(self):
        self.streams = {}
        try:
            self.wire = self.open()
            for _ in range(8):
                self.begin("GET", "/echo")
            self.scene.over.wait(self.random.uniform(1, 4))
            for stream in list(self.streams):
                self.h2.increment_flow_control_window(1 << 16, stream)
            self.wire.send(self.h2.data_to_send())
            while self.streams:
                self.pump()
            self.drop()
        except Broken as error:
            self.broke(error)
            raise


class H3(Client):
    """`roundtrip probe`: a process and a connection for each request."""

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
        told = json.loads(said) if status == 200 else {}  # the head, which is not shown, has the same content
        headers = {"x-soak-id": told.get("id"), "x-soak-user": told.get("user"), "content-type": "application/json"}
        self.look(identity, session, method, data, Answer(status, headers, said), sent)


class Bad(Client):
    """Tokens that gate must refuse, and requests without one."""

    def turn(self):
        name, session = self.random.choice(list(self.scene.bad.items()))
        self.book.fact(f"bad tokens: {name}")
        self.exchange(session, self.random.choice(["GET", "POST"]), body=b"")


class Revoked(Client):
    """Makes requests with the session that is revoked next, and with revoked ones."""

    def turn(self):
        gone = self.scene.gone
        session = self.random.choice(gone) if gone and self.random.random() < 0.3 else self.scene.passing
        self.exchange(session)


class Leaves(Client):
    """Disconnects while the backend thinks."""

    def turn(self):
        self.wire, identity, session = self.open(), self.book.identity(self.kind), self.someone()
        method = self.random.choice(["GET", "POST"])
        self.wire.ask(method, "/think?ms=800", fields(identity, session), b"thought" if method == "POST" else b"")
        self.scene.over.wait(self.random.uniform(0, 0.5))
        self.drop(self.random.random() < 0.5)
        self.befell(identity, method, "left", left=True)
