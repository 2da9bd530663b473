"""Clients of a soak that do what browsers and applications do: logins, preflights, early data, gRPC."""

import subprocess
import time
import urllib.parse

from harness.soak_book import MARGIN, REVOKED_WITHIN, Session
from harness.soak_client import Client, fields
from harness.soak_requests import H2
from harness.soak_stage import APP
from harness.soak_wire import Answer, Broken, Wire, request

FOREIGN = "https://other.example"


class Login(Client):
    """A browser: it is sent to the provider, comes back, uses its session, and logs out."""

    route = "/login"

    def turn(self):
        self.cookies = {}
        there = self.page("GET", f"{self.route}/echo", 302)
        if there is None:
            return
        provider = urllib.parse.urlsplit(there)
        wire = Wire.open(provider.port)
        wire.ask("GET", f"{provider.path}?{provider.query}", {})
        back = urllib.parse.urlsplit(wire.answer().headers["location"])
        wire.close()
        if self.page("GET", f"{back.path}?{back.query}", 302) is None:
            return
        session = Session("browser", "Cookie", self.cookie())
        self.exchange(session)
        self.exchange(session, "POST", body=self.random.randbytes(500))
        if self.page("POST", "/.gate/logout", 200) is None:
            return
        self.book.fact("logins and logouts")
        self.scene.over.wait(REVOKED_WITHIN + MARGIN)
        self.page("GET", f"{self.route}/echo", 302, session.token)

    def cookie(self):
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def page(self, method, path, expected, cookie=None):
        """Where the page leads to ("" if nowhere); None if it is another answer than expected."""
        identity = self.book.identity(self.kind)
        told = {"X-Soak-Id": identity, "Accept": "text/html", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "same-origin", "Origin": "http://localhost"}
        if cookie or self.cookies:
            told["Cookie"] = cookie or self.cookie()
        told |= {"Content-Length": "0"} if method == "POST" else {}
        try:
            self.wire = self.wire or self.open()
            self.wire.ask(method, path, told)
            answer = self.wire.answer(method)
        except Broken as error:
            self.befell(identity, "GET", str(error))
            raise
        self.befell(identity, "GET", answer.status, why=answer.reason)
        if answer.closes:
            self.drop()
        if answer.status == 200 and path.startswith(self.route):
            self.book.is_wrong("let in without a session", f"{identity}: {told.get('Cookie')}")
        if answer.status != expected:
            if answer.status < 500:
                self.book.is_wrong("login went wrong", f"{identity}: {method} {path}: {answer.status} {answer.reason}")
            return None
        for line in answer.headers.get("set-cookie", "").split("\n"):
            name, _, value = line.split(";")[0].partition("=")
            self.cookies[name.strip()] = value
        self.cookies = {name: value for name, value in self.cookies.items() if value}
        return answer.headers.get("location", "")


class Preflight(Client):
    """A page of another origin: the browser asks first, without credentials."""

    route = "/cors"

    def turn(self):
        origin = self.random.choice([APP, APP, FOREIGN])
        identity = self.book.identity(self.kind)
        try:
            self.wire = self.wire or self.open()
            self.wire.ask("OPTIONS", f"{self.route}/echo", {"X-Soak-Id": identity, "Origin": origin, "Access-Control-Request-Method": "POST",
                                                            "Access-Control-Request-Headers": "x-soak-id,authorization"})
            answer = self.wire.answer()
        except Broken as error:
            self.befell(identity, "OPTIONS", str(error))
            raise
        self.befell(identity, "OPTIONS", answer.status, why=answer.reason)
        allowed = answer.headers.get("access-control-allow-origin")
        if (answer.status, allowed) != ((204, APP) if origin == APP else (403, None)):
            self.book.is_wrong("wrong preflight", f"{identity}: {origin}: {answer.status} {allowed}")
        if answer.closes:
            self.drop()
        if origin == APP:
            told = {"Origin": origin}
            answer = self.exchange(self.someone(), "POST", body=b"said by a page", more=told)
            if answer.headers.get("access-control-allow-origin") != APP:
                self.book.is_wrong("wrong preflight", f"{identity}: the page may not read {answer.status}")


class Early(Client):
    """A request in early data, and before it another one, for the ticket: by `openssl s_client`, which does not
    repeat what was rejected.
    """

    patience = 8  # seconds

    def turn(self):
        ticket, data = (self.scene.place / f"{name}-{id(self)}" for name in ["ticket", "early"])
        if self.ask(["-sess_out", ticket], "GET", b"")[1] != 200:
            return
        method = self.random.choice(["GET", "POST"])
        body = self.random.randbytes(300) if method == "POST" else b""
        said, status = self.ask(["-sess_in", ticket, "-early_data", data], method, body, data)
        if status == 200:
            self.book.fact("early data accepted" if b"Early data was accepted" in said else "early data not sent")

    def ask(self, words, method, body, data=None):
        """What the program prints, and the status."""
        identity, session, sent = self.book.identity(self.kind), self.someone(), time.monotonic()
        told = fields(identity, session) | {"Connection": "close"} | ({"Content-Length": str(len(body))} if body else {})
        raw = request(method, "/echo", told) + body
        if data:
            data.write_bytes(raw)
        try:
            done = subprocess.run(list(map(str, ["openssl", "s_client", "-connect", f"127.0.0.1:{self.scene.https}", "-servername", "localhost",
                                                 "-CAfile", self.scene.authority, "-ign_eof", *words])),
                                  input=b"" if data else raw, capture_output=True, timeout=self.patience if data else 90)
        except subprocess.TimeoutExpired as error:
            if not data or b"Early data was rejected" not in (error.stdout or b""):
                raise
            self.book.fact("early data rejected")
            self.befell(identity, method, "left", left=True)
            return b"", 0
        _, mark, answer = done.stdout.partition(b"HTTP/1.1 ")
        wire = Wire(None)
        wire.kept = mark + answer
        try:
            answer = wire.answer(method)
        except (Broken, AttributeError) as error:
            self.befell(identity, method, "broken", session.ends(sent))
            self.book.fact(f"early: {' '.join(done.stderr.decode(errors='replace').split())[-120:]}")
            raise Broken("broken") from error
        self.look(identity, session, method, body, answer, sent)
        return done.stdout, answer.status


class Grpc(H2):
    """A call of gRPC with one message each way, each in two parts; its status is in the trailers."""

    def turn(self):
        message = self.random.randbytes(self.random.randint(1, 40_000))
        framed = b"\0" + len(message).to_bytes(4, "big") + message
        identity, session, sent = self.book.identity(self.kind), self.someone(), time.monotonic()
        self.reply, self.trailers, self.is_over, self.streams = Answer(0, {}), {}, False, {}
        try:
            self.wire = self.wire or self.open()
            self.stream = self.h2.get_next_available_stream_id()
            self.streams[self.stream] = True
            head = {":method": "POST", ":scheme": "https", ":authority": "localhost", ":path": "/grpc", "content-type": "application/grpc", "te": "trailers"}
            self.h2.send_headers(self.stream, list((head | {name.lower(): value for name, value in fields(identity, session).items()}).items()))
            half = self.random.randrange(len(framed))
            for part in [framed[:half], framed[half:]]:
                while part and not self.is_over:
                    room = min(self.h2.local_flow_control_window(self.stream), self.h2.max_outbound_frame_size)
                    if not room:
                        self.pump()
                        continue
                    self.h2.send_data(self.stream, part[:room])
                    part = part[room:]
                self.wire.send(self.h2.data_to_send())
                self.scene.over.wait(self.random.uniform(0, 0.1))
            if not self.is_over:
                self.h2.end_stream(self.stream)
                self.wire.send(self.h2.data_to_send())
            while not self.is_over:
                self.pump()
        except Broken as error:
            self.befell(identity, "POST", str(error), session.ends(sent))
            raise
        self.look(identity, session, "POST", framed, self.reply, sent)
        if self.reply.status == 200 and (self.reply.body, self.trailers.get("grpc-status")) != (framed, "0"):
            self.book.is_wrong("mixed-up answer", f"{identity}: {len(self.reply.body)} bytes instead of {len(framed)}, trailers {self.trailers}")

    def take(self, stream, event, kinds):
        if isinstance(event, kinds.ResponseReceived):
            self.reply.headers = dict(event.headers)
            self.reply.status = int(self.reply.headers[":status"])
        elif isinstance(event, kinds.DataReceived):
            self.reply.body += event.data
        elif isinstance(event, kinds.TrailersReceived):
            self.trailers = dict(event.headers)
        elif isinstance(event, kinds.StreamEnded):
            self.is_over = True
        elif isinstance(event, kinds.StreamReset) and not self.is_over:
            raise Broken(f"RST_STREAM {int(event.error_code)}")
