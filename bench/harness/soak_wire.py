"""HTTP/1.1 for the clients of a soak, without a library, which might repeat a request by itself."""

import dataclasses
import re
import select
import socket
import ssl
import struct

PATIENCE = 30  # seconds without a byte
TURN = 1 << 16


class Broken(Exception):
    """The answer is incomplete; the text says in a word or two what happened."""


@dataclasses.dataclass
class Answer:
    status: int
    headers: dict
    body: bytes = b""

    @property
    def closes(self):
        return self.headers.get("connection", "").lower() == "close"

    @property
    def reason(self):
        """Why gate gave this answer, if it says so."""
        said = re.search(rb"^Reason: (\w+)", self.body, re.MULTILINE)
        return said and said[1].decode()


class Wire:
    """One connection, and the bytes that it has received but not used."""

    def __init__(self, sock):
        self.socket, self.kept = sock, b""

    @classmethod
    def open(cls, port, context=None, session=None):
        try:
            sock = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return cls(context.wrap_socket(sock, server_hostname="localhost", session=session) if context else sock)
        except TimeoutError as error:
            raise Broken("timed out") from error
        except ssl.SSLCertVerificationError as error:
            raise Broken(f"certificate: {error.verify_message}") from error
        except OSError as error:
            raise Broken("not connected") from error

    def send(self, data):
        try:
            self.socket.sendall(data)
        except TimeoutError as error:
            raise Broken("timed out") from error
        except OSError:
            pass  # there may be an answer all the same; if not, reading reports it

    def ask(self, method, path, fields, body=b""):
        self.send(request(method, path, fields, body))

    def more(self):
        try:
            piece = self.socket.recv(TURN)
        except TimeoutError as error:
            raise Broken("timed out") from error
        except OSError as error:
            raise Broken("reset") from error
        if not piece:
            raise Broken("closed")
        self.kept += piece

    def has_answer(self):
        """Whether something has arrived, or the connection has ended."""
        return bool(self.kept or select.select([self.socket], [], [], 0)[0])

    def until(self, mark):
        while mark not in self.kept:
            if len(self.kept) > 1 << 20:
                raise Broken("no end")
            self.more()
        found, _, self.kept = self.kept.partition(mark)
        return found

    def exactly(self, count):
        while len(self.kept) < count:
            self.more()
        found, self.kept = self.kept[:count], self.kept[count:]
        return found

    def head(self):
        """The head of the final answer."""
        while True:
            lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
            try:
                status = int(lines[0].split(" ")[1])
            except (IndexError, ValueError) as error:
                raise Broken("no status") from error
            if status >= 200 or status == 101:
                found = Answer(status, {})
                for name, _, value in (line.partition(":") for line in lines[1:]):
                    name, before = name.lower(), found.headers.get(name.lower())
                    found.headers[name] = f"{before}\n{value.strip()}" if before and name == "set-cookie" else value.strip()
                return found

    def answer(self, method="GET"):
        found = self.head()
        found.body = b"" if method == "HEAD" or found.status == 101 else b"".join(self.body(found))
        return found

    def body(self, answer):
        if answer.headers.get("transfer-encoding", "").lower() == "chunked":
            while length := int(self.until(b"\r\n"), 16):
                yield self.exactly(length)
                self.exactly(2)
            while self.until(b"\r\n"):
                pass
            return
        left = int(answer.headers.get("content-length", 0))
        while left:
            piece = self.exactly(min(left, TURN))
            left -= len(piece)
            yield piece

    def close(self, reset=False):
        try:
            if reset:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.socket.close()
        except OSError:
            pass


def request(method, path, fields, body=b""):
    if body:
        fields = fields | {"Content-Length": str(len(body))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in ({"Host": "localhost"} | fields).items())
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body
