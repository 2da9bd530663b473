"""Servers on bare sockets, for the stories that no real server can be made to play.

A story is called for each request of a connection with a `Talk`, and returns False to end it.
"""

import os
import signal
import socket
import ssl
import struct
import threading
import time


def answer(size=600, headers="", status="200 OK"):
    return head(size, headers, status) + b"x" * size


def head(size=None, headers="", status="200 OK"):
    length = "" if size is None else f"Content-Length: {size}\r\n"
    return f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\n{length}{headers}\r\n".encode()


class Talk:
    """One connection, seen by a story."""

    def __init__(self, sock):
        self.sock, self.buffer, self.requests = sock, b"", 0

    def request(self, body=True):
        """Reads a request; gives its head, or None at the end."""
        while b"\r\n\r\n" not in self.buffer:
            more = self.sock.recv(65536)
            if not more:
                return None
            self.buffer += more
        text, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        self.requests += 1
        self.length = 0
        for line in text.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                self.length = int(line.split(b":")[1])
        if body:
            self.body()
        return text

    def body(self, pause=0.0):
        while len(self.buffer) < self.length:
            more = self.sock.recv(65536)
            if not more:
                return
            self.buffer += more
            if pause:
                time.sleep(pause)
        self.buffer = self.buffer[self.length :]

    def send(self, data):
        self.sock.sendall(data)

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.sock.detach())


def context(pki, versions=None, curve=None, tickets=2, name="leaf"):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(pki / f"{name}.pem", pki / "key.pem")
    if versions == "1.2":
        made.maximum_version = ssl.TLSVersion.TLSv1_2
    if curve:
        made.set_ecdh_curve(curve)
    made.num_tickets = tickets
    return made


def serve(story, port, tls=None, nodelay=True, before_tls=0.0, host="::", receive=None, backlog=64):
    """Serves until it is killed. `before_tls` is how long the ClientHello waits, in seconds."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    if receive:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    listener.bind((host, port))
    listener.listen(backlog)
    while True:
        plain, _ = listener.accept()
        threading.Thread(
            target=_talk, args=(plain, story, tls, nodelay, before_tls), daemon=True
        ).start()


def _talk(plain, story, tls, nodelay, before_tls):
    if nodelay:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock = plain
    try:
        if tls:
            if before_tls:
                plain.recv(1, socket.MSG_PEEK)
                time.sleep(before_tls)
            sock = tls.wrap_socket(plain, server_side=True)
        talk = Talk(sock)
        while story(talk) is not False:
            pass
    except (OSError, ValueError):
        pass
    finally:
        try:
            sock.close()
        except OSError:
            pass


# Stories.


def think(ms, size=600, headers=""):
    def story(talk):
        if talk.request() is None:
            return False
        time.sleep(ms / 1e3)
        talk.send(answer(size, headers))

    return story


def steps(*what, size=None, headers=""):
    """Sends bytes (a number) or waits ("wait", ms) in turn; the head goes with the first bytes."""

    def story(talk):
        if talk.request() is None:
            return False
        total = sum(step for step in what if isinstance(step, int))
        first = head(total if size is None else size, headers)
        for step in what:
            if isinstance(step, int):
                talk.send(first + b"x" * step)
                first = b""
            elif step[0] == "wait":
                time.sleep(step[1] / 1e3)
            elif step[0] == "reset":
                talk.reset()
                return False
            elif step[0] == "close":
                return False

    return story


def stalls(before, count, ms, each, size=None):
    """`before` bytes, then `count` times a pause and `each` bytes."""
    what = [before]
    for _ in range(count):
        what += [("wait", ms), each]
    return steps(*what, size=size)


def trickle(count, ms, each):
    """Chunks of `each` bytes, `ms` apart."""

    def story(talk):
        if talk.request() is None:
            return False
        talk.send(head(None, "Transfer-Encoding: chunked\r\n"))
        for index in range(count):
            if index:
                time.sleep(ms / 1e3)
            talk.send(b"%x\r\n" % each + b"y" * each + b"\r\n")
        talk.send(b"0\r\n\r\n")

    return story


def two_writes(size=600, ms=0):
    """Head and body in two small writes: Nagle's algorithm holds back the second."""

    def story(talk):
        if talk.request() is None:
            return False
        time.sleep(ms / 1e3)
        talk.send(head(size))
        talk.send(b"x" * size)

    return story


def early_hints(ms, size=600, first=0):
    def story(talk):
        if talk.request() is None:
            return False
        time.sleep(first / 1e3)
        talk.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n")
        time.sleep(ms / 1e3)
        talk.send(answer(size))

    return story


def redirect(to, ms=0, size=600):
    def story(talk):
        text = talk.request()
        if text is None:
            return False
        if b" /from" in text.split(b"\r\n")[0]:
            talk.send(answer(0, f"Location: {to}\r\n", "302 Found"))
        else:
            talk.send(answer(size))

    return story


def slow_reader(ms, size=600, first=0):
    """Reads `first` bytes of the upload, then nothing for `ms`, then all."""

    def story(talk):
        if talk.request(body=False) is None:
            return False
        time.sleep(ms / 1e3)
        talk.body()
        talk.send(answer(size))

    return story


def expecting(says, size=600):
    def story(talk):
        text = talk.request(body=False)
        if text is None:
            return False
        if says and b"100-continue" in text.lower():
            talk.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        talk.body()
        talk.send(answer(size))

    return story


def blurt(talk):
    """Answers any input, as a server without TLS answers a ClientHello."""
    talk.sock.recv(65536)
    talk.send(answer(0, status="400 Bad Request"))
    return False


def closing(size=600):
    def story(talk):
        if talk.request() is None:
            return False
        talk.send(answer(size, "Connection: close\r\n"))
        return False

    return story


def leaving(talk):
    """Answers one request, and resets the connection when a second one comes."""
    if talk.request() is None:
        return False
    if talk.requests > 1:
        talk.reset()
        return False
    talk.send(answer())
    return None


def connect_proxy(ms, target=("10.9.0.1", 443)):
    """A proxy whose own connect takes `ms`."""

    def story(talk):
        if talk.request() is None:
            return False
        time.sleep(ms / 1e3)
        other = socket.create_connection(target)
        other.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        talk.send(b"HTTP/1.1 200 Connection established\r\n\r\n")

        def carry(source, sink):
            try:
                while data := source.recv(65536):
                    sink.sendall(data)
                sink.shutdown(socket.SHUT_WR)
            except OSError:
                pass

        back = threading.Thread(target=carry, args=(other, talk.sock), daemon=True)
        back.start()
        carry(talk.sock, other)
        back.join()
        return False

    return story


# A name server.


def names(records, delay=None, drop_type=None, rcode=None, truncate=False, port=53, host="0.0.0.0"):
    """Answers A and AAAA from `records`: a name has a list of addresses, or is an alias.

    Other names do not exist. `delay(name, type)` is in ms.
    """

    def reply(question, over_tcp=False):
        at, labels = 12, []
        while question[at]:
            labels.append(question[at + 1 : at + 1 + question[at]].decode())
            at += 1 + question[at]
        name, kind = ".".join(labels).lower(), int.from_bytes(question[at + 1 : at + 3], "big")
        asked = question[12 : at + 5]
        if delay:
            time.sleep(delay(name, kind) / 1e3)
        code, answers, owner = 0, [], b"\xc0\x0c"
        if rcode is not None:
            code = rcode
        elif name not in records:
            code = 3
        else:
            found = records[name]
            while isinstance(found, str):
                labels = found.split(".")
                data = b"".join(bytes([len(x)]) + x.encode() for x in labels) + b"\0"
                answers.append(owner + struct.pack(">HHIH", 5, 1, 60, len(data)) + data)
                owner, found = data, records[found]
            for address in found:
                family, number = (socket.AF_INET6, 28) if ":" in address else (socket.AF_INET, 1)
                if number == kind:
                    data = socket.inet_pton(family, address)
                    answers.append(owner + struct.pack(">HHIH", kind, 1, 60, len(data)) + data)
        flags = 0x8180 | code
        if truncate and not over_tcp and answers:
            flags, answers = flags | 0x200, []
        return kind, question[:2] + struct.pack(
            ">HHHHH", flags, 1, len(answers), 0, 0
        ) + asked + b"".join(answers)

    def one(server, question, client):
        kind, data = reply(question)
        if kind != drop_type:
            server.sendto(data, client)

    def over_tcp():
        listener = socket.create_server((host, port))
        while True:
            peer, _ = listener.accept()
            try:
                size = int.from_bytes(peer.recv(2, socket.MSG_WAITALL), "big")
                data = reply(peer.recv(size, socket.MSG_WAITALL), True)[1]
                peer.sendall(len(data).to_bytes(2, "big") + data)
                peer.close()
            except OSError:
                pass

    threading.Thread(target=over_tcp, daemon=True).start()
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((host, port))
    while True:
        question, client = server.recvfrom(4096)
        threading.Thread(target=one, args=(server, question, client), daemon=True).start()
