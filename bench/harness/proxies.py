"""Proxies in front of one backend, each as simple as possible: one thread, kept connections to the backend,
no log.

A proxy is a name, whether it checks a session, and a command that listens; one that is not available is
reported and left out.
"""

import dataclasses
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys

from harness import peers, processes, tools

PAGE = b"<p>" + b"as long as nginx's own page " * 21 + b"and so forth.\n" + b"</p>\n\n\n"
SID, PLAIN_SID = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
LOGIN, LOGIN_BASE64 = "u:p", "dTpw"
OPEN, CLOSED = "/page", "/private/page"
PYTHON = tools.ROOT / "lab" / "clients" / "auth_proxy.py"
HYPER_AUTH_PROXY = """[package]
name = "hyper-auth-proxy-alone"
version = "0.1.2"
edition = "2021"
publish = false
[dependencies]
hyper-auth-proxy = "=0.1.2"
tokio = { version = "1", features = ["full"] }
[[bin]]
name = "hyper-auth-proxy"
path = "main.rs"
[workspace]
"""
NEEDED = "import aiohttp, redis.asyncio, cryptography"
MEMORY = 4096  # the number of tokens that gate may remember
SPANS = "1 % of spans"


@dataclasses.dataclass
class Proxy:
    name: str
    auth: bool
    command: list | None
    port: int = 0
    sid: str = SID
    process: subprocess.Popen | None = None
    cookie: str | None = None
    log: pathlib.Path | None = None

    @property
    def path(self):
        return CLOSED if self.auth else OPEN


class Stage:
    """A backend and Redis on one processor, and what proxies need to know about them."""

    def __init__(self, place, far_cpu):
        self.place, self.cpu = place, far_cpu
        self.backend, self.redis = free_port(), free_port()
        self.secret, self.key = self.file("secret", os.urandom(48).hex()), self.file("key", os.urandom(32))
        self.running = []

    def file(self, name, content):
        path = self.place / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(0o600)  # some of them are secrets, and a secret that others can read is refused
        return path

    def start(self, python):
        self.run([shutil.which("nginx"), "-p", self.place, "-c", self.file("backend.conf", backend(self)), "-e", self.place / "backend.err"], self.backend)
        self.run(["redis-server", "--port", self.redis, "--bind", "127.0.0.1", "--save", "", "--dir", self.place], self.redis)
        sealed = said(python, PYTHON, "--seal", self.key, SID, LOGIN)
        for sid, record in [(SID, sealed), (PLAIN_SID, json.dumps({"credentials": LOGIN_BASE64}))]:
            resp(self.redis, "SET", sid, record)

    def run(self, command, port):
        process = processes.start(command, self.cpu, self.place / "stage.log")
        self.running.append(process)
        if not processes.await_port(port, process):
            tools.fail(f"{command[0]} does not listen: {(self.place / 'stage.log').read_text()[-300:]}")

    def cookie(self, python, sid):
        return "Authorization=" + said(python, PYTHON, "--token", self.secret, sid)

    def end(self):
        for process in self.running:
            processes.end(process)


STARTED = []


def start(proxy, cpu, stage):
    proxy.log = stage.place / f"{proxy.port}.log"
    proxy.process = processes.start(proxy.command, cpu, proxy.log)
    STARTED.append(proxy)


def all_of(stage, roundtrip, python, beside=()):
    """Every possible arm; `command` is None if it is not available. `beside`: names and files of other builds of roundtrip."""
    found = [Proxy("direct", False, None, stage.backend)]
    found.append(listening(stage, "floor", False, floor))
    found.append(listening(stage, "nginx", False, nginx))
    found.append(listening(stage, "haproxy", False, haproxy))
    found.append(listening(stage, "caddy", False, caddy))
    found.append(listening(stage, "roundtrip relay", False, lambda s, p: gate(s, p, roundtrip, False, 0)))
    found.append(listening(stage, "aiohttp relay", False, lambda s, p: python and [python, PYTHON, local(p), http(s.backend)]))
    found.append(listening(stage, "roundtrip auth", True, lambda s, p: gate(s, p, roundtrip, True, MEMORY)))
    found.append(listening(stage, "roundtrip auth, no token cache", True, lambda s, p: gate(s, p, roundtrip, True, 0)))
    for kind, auth, remembered in [("relay", False, 0), ("auth", True, MEMORY)]:
        found.append(listening(stage, f"roundtrip {kind}, {SPANS}", auth, lambda s, p, a=auth, r=remembered: traced(s, gate(s, p, roundtrip, a, r))))
    found.append(listening(stage, "roundtrip auth, busy polling", True, lambda s, p: gate(s, p, roundtrip, True, MEMORY, busy_poll="100us")))
    found.append(listening(stage, "hyper-auth-proxy", True, hyper_auth_proxy, sid=PLAIN_SID))
    found.append(listening(stage, "aiohttp auth", True, lambda s, p: python and [
        python, PYTHON, local(p), http(s.backend), s.secret, s.key, redis_url(s)]))
    for name, file in beside:
        found.append(listening(stage, f"{name} relay", False, lambda s, p, file=file: gate(s, p, file, False, 0)))
        found.append(listening(stage, f"{name} auth", True, lambda s, p, file=file: gate(s, p, file, True, MEMORY)))
    return found


def listening(stage, name, auth, made, sid=SID):
    port = free_port()
    return Proxy(name, auth, made(stage, port) or [], port, sid)


def backend(stage):
    (stage.place / "www" / "private").mkdir(parents=True, exist_ok=True)
    for path in [OPEN, CLOSED]:
        (stage.place / "www" / path[1:]).write_bytes(PAGE)
    return nginx_of(stage, "backend", f"""
  server {{
    listen 127.0.0.1:{stage.backend} backlog=4096; root {stage.place}/www; default_type text/html;
    open_file_cache max=100 inactive=1h;
    location /private/ {{ if ($http_authorization != "Basic {LOGIN_BASE64}") {{ return 403; }} }}
    location /v1/ {{ return 200; }}
  }}""")


def nginx(stage, port):
    if not shutil.which("nginx"):
        return None
    config = stage.file("nginx.conf", nginx_of(stage, "nginx", f"""
  upstream backend {{ server 127.0.0.1:{stage.backend}; keepalive 128; keepalive_requests 1000000000; }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{ proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; }}
  }}"""))
    return ["nginx", "-p", stage.place, "-c", config, "-e", stage.place / "nginx.err"]


def nginx_of(stage, name, inside):
    temporary = "".join(f"{kind}_temp_path {stage.place}/{name}-{kind}; " for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
    return f"""user root; daemon off; master_process off; pid {stage.place}/{name}.pid;
events {{ worker_connections 4096; }}
http {{
  {temporary}access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; tcp_nodelay on;{inside}
}}
"""


def haproxy(stage, port):
    if not shutil.which("haproxy"):
        return None
    config = stage.file("haproxy.cfg", f"""
global
  nbthread 1
  maxconn 4096
defaults
  mode http
  timeout client 600s
  timeout connect 5s
  timeout server 600s
  http-reuse always
frontend here
  bind 127.0.0.1:{port} backlog 4096
  default_backend there
backend there
  server one 127.0.0.1:{stage.backend} pool-max-conn 128
""")
    return ["haproxy", "-db", "-q", "-f", config]


def caddy(stage, port):
    if not shutil.which("caddy"):
        return None
    config = stage.file("Caddyfile", f"""{{
  admin off
  auto_https off
  storage file_system {stage.place}/caddy
}}
http://127.0.0.1:{port} {{
  reverse_proxy 127.0.0.1:{stage.backend} {{
    transport http {{
      keepalive_idle_conns_per_host 128
    }}
  }}
}}
""")
    return ["env", f"HOME={stage.place}", "caddy", "run", "--config", config, "--adapter", "caddyfile"]


def floor(stage, port):
    made = stage.place / "floor"
    if shutil.which("cc") is None or subprocess.run(["cc", "-O2", "-o", made, tools.ROOT / "bench" / "harness" / "floor.c"]).returncode:
        return None
    return [made, port, stage.backend]


def gate(stage, port, roundtrip, auth, remembered, tls=False, busy_poll=None):
    session = f"""
[token]
remembered = {remembered}
key = [{{ algorithm = "HS512", from = {{ file = "{stage.secret}" }} }}]
[session]
store = "{redis_url(stage)}"
seal = [{{ id = "1", from = {{ file = "{stage.key}" }} }}]
"""
    config = stage.file(f"gate-{port}.toml", f"""
[listen]
{"https" if tls else "http"} = ["{local(port)}"]
h3 = {str(tls).lower()}
threads = 1
{f'busy_poll = "{busy_poll}"' if busy_poll else ""}
{session if auth else ""}
[upstream.backend]
servers = ["{http(stage.backend)}"]
[[route]]
upstream = "backend"
auth = {str(auth).lower()}
""")
    return [roundtrip, "gate", "run", "--config", config]


def traced(stage, command):
    """With spans of one request in a hundred for a collector, which is a location of the backend."""
    sampler = ["OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.01"]
    return ["env", *sampler, *command, "--otlp", http(stage.backend)]


def hyper_auth_proxy(stage, port):
    """Built from its published package and the program in its README; its source is not read."""
    made = peers.cache() / "bin" / "hyper-auth-proxy"
    if not made.is_file():
        place = peers.cache() / "hyper-auth-proxy"
        place.mkdir(parents=True, exist_ok=True)
        (place / "Cargo.toml").write_text(HYPER_AUTH_PROXY)
        shutil.copy(tools.ROOT / "bench" / "harness" / "hyper_auth_proxy.rs", place / "main.rs")
        peers.attempt(["cargo", "build", "--quiet", "--release", "--manifest-path", str(place / "Cargo.toml")],
                      {"CARGO_TARGET_DIR": str(place / "target")}, "some minutes")
        built = place / "target" / "release" / "hyper-auth-proxy"
        if not built.is_file():
            return None
        made.parent.mkdir(exist_ok=True)
        shutil.copy(built, made)
    return [made, local(port), http(stage.backend), redis_url(stage), stage.secret]


def python():
    """A Python with aiohttp, redis and cryptography: this one, that of the system, or one in a separate environment.
    """
    venv = peers.cache() / "proxies" / "bin" / "python3"
    for candidate in [venv, sys.executable, "/usr/bin/python3"]:
        if knows(candidate):
            return str(candidate)
    peers.attempt([sys.executable, "-m", "venv", str(venv.parents[1])], {}, "seconds")
    peers.attempt([str(venv), "-m", "pip", "install", "--quiet", "aiohttp", "redis", "cryptography"], {}, "a minute")
    return str(venv) if knows(venv) else None


def knows(candidate):
    try:
        return subprocess.run([candidate, "-c", NEEDED], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def said(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if done.returncode:
        tools.fail(f"{' '.join(map(str, words[:3]))}: {done.stderr.strip()[-300:]}")
    return done.stdout.strip()


def resp(port, *words):
    command = f"*{len(words)}\r\n" + "".join(f"${len(word.encode())}\r\n{word}\r\n" for word in words)
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(command.encode())
        answer = connection.recv(4096)
    if not answer.startswith(b"+"):
        tools.fail(f"Redis says {answer!r}")


def free_port(given=set()):
    """A port that is free, and has not been returned before."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        if port not in given:
            given.add(port)
            return port


def local(port):
    return f"127.0.0.1:{port}"


def http(port):
    return f"http://127.0.0.1:{port}"


def redis_url(stage):
    return f"redis://127.0.0.1:{stage.redis}/0"
