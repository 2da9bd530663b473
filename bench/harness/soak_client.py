"""The common part of all clients of a soak: each is a thread that makes a request, checks the answer, counts
it, and sleeps.
"""

import dataclasses
import hashlib
import json
import pathlib
import random
import threading
import time

from harness.soak_book import Book, Session
from harness.soak_wire import Broken, Wire


@dataclasses.dataclass
class Scene:
    book: Book
    http: int
    https: int
    authority: pathlib.Path
    place: pathlib.Path
    roundtrip: str
    sessions: list = dataclasses.field(default_factory=list)
    bad: dict = dataclasses.field(default_factory=dict)  # kind of invalid token: a field
    passing: Session | None = None  # the session that is to be revoked next
    gone: list = dataclasses.field(default_factory=list)
    certificate: tuple = (0, 0.0)  # its serial number, and since when
    over: threading.Event = dataclasses.field(default_factory=threading.Event)


class Client:
    """A client of some kind, with separate random numbers and connections."""

    route = ""  # the prefix of its paths

    def __init__(self, scene, kind, pause, seed):
        self.scene, self.book, self.kind, self.pause = scene, scene.book, kind, pause
        self.random, self.wire, self.tls_session, self.rounds = random.Random(seed), None, None, 0

    def run(self):
        while not self.scene.over.wait(self.random.uniform(0.5, 1.5) * self.pause):
            try:
                self.turn()
            except Broken:
                self.drop()
            except Exception as error:  # if one of our clients ended early, the soak would continue without it
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

    def exchange(self, session, method="GET", path="/echo", body=b"", raw=None, more=None):
        """Makes a request over the open connection, or opens one; `raw` sends the body itself. Also checks
        the answer.
        """
        identity = self.book.identity(self.kind)
        sent = time.monotonic()
        try:
            self.wire = self.wire or self.open()
            if raw:
                raw(identity, fields(identity, session))
            else:
                self.wire.ask(method, self.route + path, fields(identity, session) | (more or {}), body)
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

    def befell(self, identity, method, what, left=False, why=None):
        self.book.saw(self.kind, what, left, why)
        if method == "POST":
            self.book.post(identity, what)

    def look(self, identity, session, method, body, answer, sent):
        """Checks that the answer is for this request, and that its session may have it."""
        heard = time.monotonic()
        self.befell(identity, method, answer.status, why=answer.reason)
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
        """The user with whose credentials the answer was obtained, if these were allowed for it."""
        user = answer.headers.get("x-soak-user")
        if answer.headers.get("x-soak-id") != identity or user not in (session.user, session.former):
            return self.book.is_wrong("mixed-up answer", f"{identity} of {session.user}: {answer.headers}")
        if not session.is_of(user, sent):
            self.book.is_wrong("credentials from before a change", f"{identity}: {user} {sent - session.changed:.3f} s after")
        return user


def fields(identity, session):
    return {"X-Soak-Id": identity} | ({session.field: session.token} if session.field else {})
