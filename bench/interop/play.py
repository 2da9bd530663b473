"""One game: a client and a server at the two ends of an emulated path, each in its own network."""

import hashlib
import os
import shlex
import subprocess
import time

from interop.judge import Verdict
from interop.peers import HERE, H3, HQ, Hole

LINE = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n"
PATTERN = LINE * (64 * 1024 // len(LINE) + 1)
PATTERN = PATTERN[: 64 * 1024]


def document(size):
    """The body of /bytes/SIZE at `roundtrip origin`."""
    return (PATTERN * (size // len(PATTERN) + 1))[:size]


class Library:
    """What is served: documents, and certificates of a short chain and of a long one."""

    def __init__(self, place, sizes):
        self.www = place / "www"
        (self.www / "bytes").mkdir(parents=True)
        self.hashes = {}
        for size in sizes:
            body = document(size)
            (self.www / "bytes" / str(size)).write_bytes(body)
            self.hashes[size] = hashlib.sha256(body).digest()
        self.short = certificate(place / "short", [])
        # Names alone make it longer than a server may send before its client has proved its address.
        self.long = certificate(place / "long", [f"name-{number:03}.interop.test" for number in range(300)])


def certificate(place, further):
    """Certificate and key of a server; it is its own authority."""
    place.mkdir()
    names = ",".join(["DNS:server", "DNS:localhost", "IP:198.18.0.2", "IP:2001:2::2", *(f"DNS:{name}" for name in further)])
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "9",
                    "-subj", "/CN=server", "-addext", f"subjectAltName={names}", "-addext", "basicConstraints=critical,CA:FALSE",
                    "-keyout", place / "key.pem", "-out", place / "certificate.pem"], check=True, capture_output=True)
    return place / "certificate.pem", place / "key.pem"


class Game:
    def __init__(self, case, client, server, library, place):
        for holes in (client.no_client, server.no_server):
            if reason := holes.get(case.name):
                raise Hole(reason)
        self.case, self.client, self.server, self.place = case, client, server, place
        self.www, self.hashes = library.www, library.hashes
        self.certificate, self.key = library.long if case.long_chain else library.short
        self.is_served_by_us = hasattr(server, "example")
        self.authority = place / "ca.pem" if self.is_served_by_us else self.certificate
        self.capture = place / "capture.pcapng"
        self.protocol = self.choose_protocol()

    def choose_protocol(self):
        common = [each for each in (HQ, H3) if each in self.client.client_protocols and each in self.server.server_protocols]
        if self.case.protocol in common:
            return self.case.protocol
        if not common or self.case.protocol == H3:
            raise Hole("no common application protocol")
        return common[0]

    @property
    def downloads(self):
        return self.client.downloads(self)

    @property
    def host(self):
        return "[2001:2::2]" if self.case.is_v6 else "198.18.0.2"

    @property
    def address(self):
        return f"{self.host}:443"

    @property
    def paths(self):
        return [f"/bytes/{size}" for size in self.case.sizes]

    @property
    def urls(self):
        return [f"https://{self.address}{path}" for path in self.paths]

    def play(self, roundtrip, reader):
        """The outcome, as it goes into the result."""
        self.place.mkdir()
        self.downloads.mkdir(parents=True)
        serve, script = self.server_script(), self.client_script()
        words = ["timeout", "-k", "5", str(self.case.seconds), roundtrip, "path", *self.case.words, "-q", "--pcapng", self.capture,
                 "--serve", f"sh {serve}", "--wait", "80", "--", "sh", script]
        began = time.monotonic()
        done = subprocess.run(list(map(str, words)), stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        verdict = Verdict(self, reader, done.returncode, done.stderr)
        wrong = verdict.wrong()
        told = {"outcome": "failed" if wrong else "passed", "seconds": round(time.monotonic() - began, 1), "protocol": self.protocol}
        if wrong:
            return told | {"reason": wrong}
        return told | {"kbit/s": round(verdict.kbit_per_second)}

    def server_script(self):
        command = self.server.server(self)
        if not self.is_served_by_us:
            command = ["/usr/bin/python3", HERE / "serve.py", *command]
        return self.write("server.sh", self.server, f"exec {line(command)} > {self.place}/server.out 2>&1\n")

    def client_script(self):
        commands = "".join(f"{line(command)} >> {self.place}/client.out 2>> {self.place}/client.err\n"
                           for command in self.client.client(self))
        before = "curl -s --http0.9 -o /dev/null http://198.18.0.2/bytes/1000000000 &\nsleep 1\n" if self.case.crosses else ""
        # Some of its counters are known only when a connection has ended.
        after = f"sleep 0.3; curl -s http://198.18.0.2/stats > {self.place}/stats.json\n" if self.is_served_by_us else ""
        return self.write("client.sh", self.client, f"set -e\ncd {self.place}\n: > client.out\n{before}{commands}{after}")

    def write(self, name, peer, text):
        role = name.removesuffix(".sh")
        variables = {"SSLKEYLOGFILE": f"{self.place}/{role}.keys"} | peer.environment(self, role)
        exports = "".join(f"export {key}={shlex.quote(value)}\n" for key, value in variables.items())
        (self.place / name).write_text(exports + text)
        return self.place / name


def line(command):
    return " ".join(shlex.quote(os.fspath(word) if not isinstance(word, str) else word) for word in command)
