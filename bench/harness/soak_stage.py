"""The processes of a soak: gate, two backends, nginx as an HTTP/2 server before one of them, Redis on a Unix
socket, an OpenID provider; and the events that happen to them while clients make requests.
"""

import base64
import hashlib
import hmac
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from harness import processes, proxies, servers, tools
from harness.soak_book import Session
from harness.soak_wire import Broken, Wire

IDLE = 5  # seconds that gate keeps an unused connection to a backend
SETTLED = 5  # seconds after which an outage may no longer have any effect
APP = "https://app.example"  # the origin whose pages may ask
STORE_KNOWN = 5  # seconds after the store's return within which gate has reconnected
TAKEN = 10  # seconds that a reload may take


class Stage:
    def __init__(self, place, roundtrip, book):
        self.place, self.roundtrip, self.book = place, roundtrip, book
        self.http, self.https, self.admin, self.h2, self.provider = (proxies.free_port() for _ in range(5))
        self.ports = {"a": proxies.free_port(), "b": proxies.free_port()}
        self.journal, self.log = place / "journal", place / "gate.log"
        self.settings, self.serial, self.numbers = 0, (0, 0.0), 0
        self.secret = os.urandom(48).hex()
        self.running = {}
        for name, content in [("token.key", self.secret), ("seal.key", os.urandom(32).hex()), ("journal", "")]:
            (place / name).write_text(content)
            (place / name).chmod(0o600)
        self.authority()

    def start(self):
        self.start_store()
        for name in self.ports:
            self.start_backend(name)
        self.start_nginx()
        self.start_provider()
        self.replace_certificate()
        self.config().write_text(self.text())
        self.config().chmod(0o600)
        self.gate = self.run("gate", [self.roundtrip, "gate", "run", "--config", self.config()], self.log)
        if not processes.await_port(self.admin, self.gate, 30):
            tools.fail(f"gate does not listen: {self.log.read_text()[-500:]}")
        self.began = self.figure("start_time_seconds")

    def run(self, name, command, log):
        with open(log, "ab") as file:
            self.running[name] = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True)
        return self.running[name]

    def end(self):
        for process in self.running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                processes.end(process)

    # Gate's configuration.

    def config(self):
        return self.place / "gate.toml"

    def text(self):
        at = self.place
        return f"""
[listen]
http = ["127.0.0.1:{self.http}"]
https = ["127.0.0.1:{self.https}"]
h3 = true
threads = 2
[[tls.certificate]]
chain = "{at}/chain.pem"
key = "{at}/key.pem"
[tls]
early_data = true
resumption = "single-use"
[[token.key]]
algorithm = "HS512"
from = {{ file = "{at}/token.key" }}
[session]
store = "unix:{at}/redis"
[[session.seal]]
id = "1"
from = {{ file = "{at}/seal.key" }}
[upstream.backend]
servers = [{", ".join(f'"http://127.0.0.1:{port}"' for port in self.ports.values())}]
idle_time = "{IDLE}s"
[[route]]
upstream = "backend"
upgrades = true
set = {{ X-Soak-Settings = "{self.settings}" }}
[[route]]
path = "/events"
upstream = "backend"
streams = true
[upstream.h2]
servers = ["http://127.0.0.1:{self.h2}"]
protocol = "h2"
idle_time = "{IDLE}s"
[[route]]
path = "/h2"
upstream = "h2"
set = {{ X-Soak-Settings = "{self.settings}" }}
[[route]]
path = "/buffered"
upstream = "backend"
buffer_request = "1MiB"
[login]
issuer = "http://127.0.0.1:{self.provider}"
client_id = "gate"
[[route]]
path = "/login"
upstream = "backend"
login = true
[[route]]
path = "/cors"
upstream = "backend"
[route.cors]
preflight = "answer"
origins = ["{APP}"]
headers = ["Authorization", "X-Soak-Id"]
[admin]
listen = "127.0.0.1:{self.admin}"
"""

    def nginx(self):
        """It ends each connection gracefully after some requests (RFC 9113 §6.8), and repeats no request."""
        at = self.place
        return f"""
daemon off;
worker_processes 1;
pid {at}/nginx.pid;
error_log {at}/nginx.log;
events {{ worker_connections 512; }}
http {{
    access_log off;
    {"".join(f"{kind}_temp_path {at}/nginx-{kind};" for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])}
    client_max_body_size 0;
    keepalive_requests 200;
    server {{
        listen 127.0.0.1:{self.h2} http2;
        location /h2/ {{
            proxy_pass http://127.0.0.1:{self.ports["a"]}/;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
            proxy_request_buffering off;
            proxy_next_upstream off;
        }}
    }}
}}
"""

    def authority(self):
        servers.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                        "-keyout", self.place / "ca.key", "-out", self.place / "ca.pem", "-subj", "/CN=authority")

    def replace_certificate(self):
        """Replaces key and chain, each in one step, one after the other: for a moment they do not match."""
        new, serial = {name: self.place / f"new-{name}.pem" for name in ["chain", "key"]}, int.from_bytes(os.urandom(8), "big") >> 1
        servers.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-keyout", new["key"],
                        "-out", new["chain"], "-subj", "/CN=localhost", "-set_serial", serial, "-CA", self.place / "ca.pem", "-CAkey", self.place / "ca.key",
                        "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE")
        for name, path in new.items():
            path.chmod(0o600)
            path.replace(self.place / f"{name}.pem")
        self.serial = (serial, time.monotonic())

    # Sessions and tokens.

    def command(self, *words, given=None):
        done = subprocess.run([self.roundtrip, "gate", *words, "--config", str(self.config())], input=given, capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise RuntimeError(f"gate {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout.strip()

    def session(self, name):
        """Makes a new session: odd ones are sent as Bearer, even ones in the cookie."""
        self.numbers += 1
        sid = f"{name}-{self.numbers}"
        self.command("session", "put", sid, given=f"{sid}:secret")
        token = self.token(sid, 7200)
        if self.numbers % 2:
            return Session(sid, "Authorization", f"Bearer {token}")
        return Session(sid, "Cookie", f"Authorization={base64.b64encode(token.encode()).decode()}")

    def token(self, sid, lasts, secret=None):
        parts = [{"alg": "HS512", "typ": "JWT"}, {"sub": sid, "sid": sid, "iat": int(time.time()) - 7200, "exp": int(time.time()) + lasts}]
        signed = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
        proof = hmac.new((secret or self.secret).encode(), signed.encode(), hashlib.sha512).digest()
        return f"{signed}.{base64.urlsafe_b64encode(proof).decode().rstrip('=')}"

    def bad(self, good):
        """The name of a defect of a token, and such a token."""
        wrong = {"another's signature": self.token(good.sid, 7200, "0" * 64), "expired": self.token(good.sid, -3600), "garbage": "a.b.c",
                 "an unknown session": self.token("nobody", 7200)}
        found = {name: Session("", "Authorization", f"Bearer {token}") for name, token in wrong.items()}
        return found | {"none": Session("", "", ""), "a password": Session("", "Authorization", "Basic " + base64.b64encode(b"a:b").decode())}

    def revoke(self, session, within=None):
        session.within = within or session.within
        session.leaving = True
        self.command("session", "revoke", session.sid)
        session.revoked = time.monotonic()

    def change(self, session):
        """Gives the session other credentials."""
        self.numbers += 1
        user = f"{session.sid}-as-{self.numbers}"
        session.former, session.changed = session.user, None
        session.user = user
        self.command("session", "put", session.sid, given=f"{user}:secret")
        session.changed = time.monotonic()

    # Outages.

    def start_backend(self, name):
        process = self.run(name, [sys.executable, pathlib.Path(__file__).parent / "soak_backend.py", name, self.ports[name], self.journal], self.place / f"{name}.log")
        if not processes.await_port(self.ports[name], process):
            tools.fail(f"backend {name} does not listen: {(self.place / f'{name}.log').read_text()[-500:]}")

    def start_nginx(self):
        (self.place / "nginx.conf").write_text(self.nginx())
        process = self.run("nginx", ["nginx", "-p", self.place, "-c", self.place / "nginx.conf", "-e", self.place / "nginx.log"], self.place / "nginx.log")
        if not processes.await_port(self.h2, process):
            tools.fail(f"nginx does not listen: {(self.place / 'nginx.log').read_text()[-500:]}")

    def start_provider(self):
        key = self.place / "provider.key"
        servers.openssl("genpkey", "-algorithm", "RSA", "-out", key)
        process = self.run("provider", [sys.executable, pathlib.Path(__file__).parent / "openid_provider.py", self.provider, key], self.place / "provider.log")
        if not processes.await_port(self.provider, process):
            tools.fail(f"the provider does not listen: {(self.place / 'provider.log').read_text()[-500:]}")

    def start_store(self):
        (self.place / "redis").unlink(missing_ok=True)
        process = self.run("store", ["redis-server", "--port", "0", "--unixsocket", self.place / "redis", "--save", "", "--appendonly", "yes",
                                     "--appendfsync", "always", "--dir", self.place], self.place / "redis.log")
        until = time.monotonic() + 20
        while not self.store_answers():
            if process.poll() is not None or time.monotonic() > until:
                tools.fail(f"Redis does not answer: {(self.place / 'redis.log').read_text()[-500:]}")
            time.sleep(0.02)

    def store_answers(self):
        try:
            with socket.socket(socket.AF_UNIX) as probe:
                probe.settimeout(1)
                probe.connect(str(self.place / "redis"))
                probe.sendall(b"PING\r\n")
                return probe.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def kill(self, name):
        process = self.running[name]
        process.kill()
        process.wait(10)

    def hang_up(self):
        self.gate.send_signal(signal.SIGHUP)

    def settings_in_force(self, session):
        """What gate sends to backends over a new connection; None if there is no such answer."""
        try:
            wire = Wire.open(self.http)
            wire.ask("GET", "/echo", {"X-Soak-Id": "settings", session.field: session.token})
            answer = wire.answer()
            wire.close()
            return answer.headers.get("x-soak-settings")
        except Broken:
            return None

    # What gate reports about itself, and the kernel about gate.

    def figure(self, name):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/metrics", timeout=10) as page:
                lines = page.read().decode().splitlines()
        except (OSError, urllib.error.URLError):
            return None
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.split(" ")[0].split("{")[0] == f"roundtrip_gate_{name}")

    def descriptors(self):
        found = []
        for path in pathlib.Path(f"/proc/{self.gate.pid}/fd").iterdir():
            try:
                found.append(os.readlink(path))
            except OSError:
                continue
        return found
