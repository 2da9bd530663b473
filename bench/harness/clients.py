"""Clients that make one request for each connection: `python3 clients.py ROLE PORT COUNT KIND`, each one end
for `secure.py`.

    handshakes PORT COUNT full|resumed    one connection after the other, each with a handshake and a request
    rest PORT COUNT h1|h1+tls|h2+tls      all at once; each makes a request and stays until standard input ends
"""

import socket
import ssl
import sys

PATH = b"/page"
# RFC 9113 §3.4, §6.5: the preface and empty settings; §6.2, RFC 7541 §6: GET, https, PATH, and a host.
HEADERS = b"\x82\x87\x04\x05" + PATH + b"\x01\x09localhost"
OPENING = (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0" + len(HEADERS).to_bytes(3, "big") + b"\1\5\0\0\0\1" + HEADERS)
ACKNOWLEDGED = b"\0\0\0\4\1\0\0\0\0"
SETTINGS, HEAD, DATA, ACK, END_STREAM = 4, 1, 0, 1, 1


def main():
    role, port, count, kind = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    if role == "handshakes":
        return handshakes(port, count, kind == "resumed")
    kept = [asked(port, kind) for _ in range(count)]
    print("ready", flush=True)
    sys.stdin.read()
    del kept


def handshakes(port, count, resumed):
    """Exits with 1 unless each handshake was of the requested kind."""
    context, session = context_of("h1+tls"), None
    for number in range(count + 1):
        with context.wrap_socket(connected(port), server_hostname="localhost", session=session if resumed else None) as stream:
            if stream.session_reused != (resumed and number > 0):
                sys.exit(f"connection {number}: resumed is {stream.session_reused}")
            ask(stream, b"close")
            # The ticket has arrived with the answer.
            session = stream.session


def asked(port, kind):
    stream = connected(port)
    if kind == "h1":
        return ask(stream, b"keep-alive")
    stream = context_of(kind).wrap_socket(stream, server_hostname="localhost")
    return ask(stream, b"keep-alive") if kind == "h1+tls" else ask_h2(stream)


def connected(port):
    stream = socket.create_connection(("127.0.0.1", port), timeout=20)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return stream


def context_of(kind, made={}):
    if kind not in made:
        context = made[kind] = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        # The same work for all servers, whatever else they would prefer.
        context.set_ecdh_curve("X25519")
        context.set_alpn_protocols(["h2" if kind == "h2+tls" else "http/1.1"])
    return made[kind]


def ask(stream, connection):
    stream.sendall(b"GET " + PATH + b" HTTP/1.1\r\nHost: localhost\r\nConnection: " + connection + b"\r\n\r\n")
    answer = b""
    while not answer.endswith(b"</p>\n\n\n"):
        piece = stream.recv(65536)
        if not piece:
            sys.exit(f"cut: {answer[:200]!r}")
        answer += piece
    if not answer.startswith(b"HTTP/1.1 200"):
        sys.exit(f"not the page: {answer[:200]!r}")
    return stream


def ask_h2(stream):
    stream.sendall(OPENING)
    while True:
        head = exactly(stream, 9)
        length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        exactly(stream, length)
        if kind == SETTINGS and not flags & ACK:
            stream.sendall(ACKNOWLEDGED)
        elif kind in (DATA, HEAD) and flags & END_STREAM:
            return stream
        elif kind in (3, 7):
            sys.exit("reset or sent away")


def exactly(stream, length):
    found = b""
    while len(found) < length:
        piece = stream.recv(length - len(found))
        if not piece:
            sys.exit("cut")
        found += piece
    return found


if __name__ == "__main__":
    main()
