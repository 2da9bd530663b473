"""The peers: how each is started as a client and as a server, and what it cannot do.

A `Hole` says why a case cannot be tried with a peer. Programs are where `bench/interop/install` puts them.
"""

import os
import pathlib
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "roundtrip" / "interop"
ROOT = HERE.parents[1]
H3, HQ = "h3", "hq-interop"
CHACHA = "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+CHACHA20-POLY1305"


class Hole(Exception):
    """Why a peer cannot play a case."""


class Peer:
    """A name, the protocols that each side speaks, and what it lacks as client and as server, with the reason."""

    name = ""
    client_protocols = server_protocols = [HQ, H3]
    no_client = {}
    no_server = {}

    def is_installed(self):
        raise NotImplementedError

    def version(self):
        raise NotImplementedError

    def client(self, game):
        """The commands of a client, one after the other."""
        raise NotImplementedError

    def server(self, game):
        """The command of a server on port 443."""
        raise NotImplementedError

    def environment(self, game, role):
        return {}

    def downloads(self, game):
        """Where its client saves documents."""
        return game.place / "downloads"


class Ours(Peer):
    name = "roundtrip"
    example_name = "interop"

    def __init__(self, target):
        self.program, self.example = target / "roundtrip", target / "examples" / self.example_name

    def is_installed(self):
        return self.program.exists() and self.example.exists()

    def version(self):
        return first_line([self.program, "--version"])

    def client(self, game):
        return [[self.example, game.case.name, game.protocol, game.authority, game.downloads, game.address, *game.paths]]

    def server(self, game):
        more = ["--quic-retry"] * (game.case.name == "retry") + ["--chain-bytes", "9000"] * game.case.long_chain
        return [self.program, "origin", "--bind", "198.18.0.2", "--bind", "2001:2::2", "--http-port", "80", "--https-port", "443",
                "--name", "server", "--name", "198.18.0.2", "--early-data", "on", "--ca-out", game.authority, *more]


class Quinn(Ours):
    """Its server runs inside `roundtrip origin`, and its client beside ours."""

    name = "quinn"
    example_name = "interop_quinn"
    server_protocols = [H3]
    no_client = {"v2": "it has no version 2"}
    no_server = {"v2": "it has no version 2"}

    def version(self):
        return "quinn " + re.search(r'name = "quinn"\nversion = "([^"]+)"', (ROOT / "Cargo.lock").read_text())[1]

    def server(self, game):
        return [*super().server(game), "--quic-engine", "quinn"]


class Aioquic(Peer):
    name = "aioquic"
    no_client = {"ecn": "asyncio's transport sets and reads no marks"}
    no_server = {"ecn": "asyncio's transport sets and reads no marks"}

    def __init__(self):
        asked = subprocess.run([ROOT / "scripts" / "install-aioquic"], env=os.environ | {"NO_INSTALL": "1"}, capture_output=True, text=True)
        self.modules = asked.stdout.strip() if asked.returncode == 0 else None

    def is_installed(self):
        return self.modules is not None

    def version(self):
        code = "import aioquic; print('aioquic', aioquic.__version__)"
        return first_line(["/usr/bin/python3", "-c", code], {"PYTHONPATH": self.modules})

    def environment(self, game, role):
        return {"PYTHONPATH": self.modules, "PYTHONDONTWRITEBYTECODE": "1"}

    def client(self, game):
        host = "2001:2::2" if game.case.is_v6 else "198.18.0.2"
        return [["/usr/bin/python3", HERE / "aioquic_peer.py", "client", game.case.name, game.protocol, game.authority, game.downloads,
                 host, "443", *game.paths]]

    def server(self, game):
        return ["/usr/bin/python3", HERE / "aioquic_peer.py", "server", game.case.name, "::", "443", game.www, game.certificate, game.key]


class Ngtcp2(Peer):
    name = "ngtcp2"
    client_protocols = server_protocols = [H3]
    no_client = {"v2": "this version knows only a draft of version 2"}
    no_server = no_client

    def is_installed(self):
        return bool(shutil.which("gtlsclient") and shutil.which("gtlsserver"))

    def version(self):
        return "ngtcp2 " + first_line(["dpkg-query", "-W", "-f", "${Version}\n", "ngtcp2-client"])

    def client(self, game):
        case = game.case.name
        flags = ["-q", "--exit-on-all-streams-close", f"--download={game.downloads}"]
        flags += {"keyupdate": ["--key-update=20ms", "--delay-stream=100ms"], "chacha20": [f"--ciphers={CHACHA}"],
                  "connectionmigration": ["--change-local-addr=300ms"]}.get(case, [])
        if game.case.name in ("longrtt", "handshakeloss", "handshakecorruption"):
            flags += ["--handshake-timeout=30s"]
        host = "2001:2::2" if game.case.is_v6 else "198.18.0.2"
        if case in ("resumption", "zerortt"):
            flags += [f"--session-file={game.place}/session", f"--tp-file={game.place}/parameters"]
            flags += ["--disable-early-data"] * (case == "resumption")
        return [["gtlsclient", *flags, host, "443", *urls] for urls in rounds(game)]

    def server(self, game):
        flags = ["-q", "-d", game.www, "--max-streams-bidi=1000", "--handshake-timeout=30s"]
        flags += ["-V"] * (game.case.name == "retry")
        return ["gtlsserver", *flags, "*", "443", game.key, game.certificate]


class QuicGo(Peer):
    """Its own interop programs, which expect their files at the root."""

    name = "quic-go"
    fixed = "0.65.0"
    no_client = {"v2": "its interop client has no such case", "connectionmigration": "its interop client has no such case"}
    cases = {"client": {"http3", "retry", "keyupdate", "chacha20", "resumption", "zerortt"},
             "server": {"http3", "retry", "chacha20", "resumption", "zerortt"}}

    def __init__(self):
        self.place = CACHE / f"quic-go-{self.fixed}"

    def is_installed(self):
        return (self.place / "client").exists()

    def version(self):
        return f"quic-go {self.fixed}"

    def environment(self, game, role):
        case = "multiconnect" if game.case.connections > 2 else game.case.name
        return {"TESTCASE": case if case in self.cases[role] | {"multiconnect"} else "transfer", "SSLKEYLOGFILE": "/keys"}

    def downloads(self, game):
        return game.place / "go-client" / "downloads" / "bytes"

    def client(self, game):
        root = self.root(game, "client")
        return [["/usr/sbin/chroot", root, "/client", *game.urls]]

    def server(self, game):
        root = self.root(game, "server")
        (root / "certs").mkdir()
        shutil.copy(game.certificate, root / "certs" / "cert.pem")
        shutil.copy(game.key, root / "certs" / "priv.key")
        shutil.copytree(game.www, root / "www", symlinks=True)
        return ["/usr/sbin/chroot", root, "/server"]

    def root(self, game, role):
        root = game.place / f"go-{role}"
        (root / "logs").mkdir(parents=True, exist_ok=True)
        shutil.copy(self.place / role, root / role)
        return root


class Tquic(Peer):
    """The tools that its package contains."""

    name = "tquic"
    client_protocols = server_protocols = [HQ, H3]
    fixed = "1.6.0"
    no_client = {"chacha20": "its client has no choice of ciphers", "v2": "it has no version 2", "keyupdate": "its client updates no keys",
                 "connectionmigration": "its client moves only with multipath", "ecn": "it marks nothing"}
    no_server = {"v2": "it has no version 2", "ecn": "it marks nothing"}

    def __init__(self):
        self.place = CACHE / f"tquic-{self.fixed}" / "bin"

    def is_installed(self):
        return (self.place / "tquic_client").exists()

    def version(self):
        return f"tquic {self.fixed}"

    def client(self, game):
        flags = ["--connect-to", game.address, "--alpn", game.protocol, "--dump-dir", game.downloads, "--log-level", "ERROR",
                 "--keylog-file", game.place / "client.keys", "--max-concurrent-requests", "100", "--handshake-timeout", "60000"]
        case = game.case.name
        if case in ("resumption", "zerortt"):
            flags += ["--session-file", game.place / "session"] + ["--enable-early-data"] * (case == "zerortt")
        return [[self.place / "tquic_client", *flags, "--total-requests-per-thread", str(len(urls)), *urls] for urls in rounds(game)]

    def server(self, game):
        address = "[2001:2::2]:443" if game.case.is_v6 else "198.18.0.2:443"
        retry = ["--enable-retry"] * (game.case.name == "retry")
        return [self.place / "tquic_server", "--listen", address, "--cert", game.certificate, "--key", game.key, "--root", game.www,
                "--log-level", "ERROR", *retry]


class Adapted(Peer):
    """A library, behind our own small program: `bench/interop/adapters`."""

    fixed = ""

    def __init__(self):
        self.program = CACHE / f"{self.name}-{self.fixed}" / "bin" / f"interop_{self.name.replace('-', '_')}"

    def is_installed(self):
        return self.program.exists()

    def version(self):
        return f"{self.name} {self.fixed}"

    def client(self, game):
        return [[self.program, "client", game.case.name, game.protocol, game.authority, game.downloads, game.address, *game.paths]]

    def server(self, game):
        return [self.program, "server", game.case.name, game.address, game.www, game.certificate, game.key]


class S2nQuic(Adapted):
    """A fixed rule decides whether its server follows a client that moves; it excludes addresses for benchmarks."""

    name, fixed = "s2n-quic", "1.91.0"
    client_protocols = server_protocols = [HQ]
    lacks = {"http3": "s2n-quic has no HTTP/3, and its adapter to an HTTP/3 crate is not published", "v2": "s2n-quic has no version 2",
             "resumption": "over rustls, s2n-quic writes and reads no tickets", "zerortt": "s2n-quic has no 0-RTT"}
    still = "s2n-quic does not follow clients that move between addresses for benchmarks (198.18.0.0/15), such as those of the emulated path"
    no_server = lacks | {"rebind-port": still, "rebind-addr": still}
    no_client = lacks | {"keyupdate": "s2n-quic updates keys only near the cipher's limit",
                         "connectionmigration": "s2n-quic's clients do not move by themselves"}


class Quiche(Adapted):
    name, fixed = "quiche", "0.30.0"
    no_server = {"ecn": "quiche marks nothing", "v2": "quiche has no version 2"}
    no_client = no_server | {"chacha20": "BoringSSL has no choice of ciphers in TLS 1.3", "keyupdate": "quiche updates no keys by itself"}


class Msquic(Adapted):
    name, fixed = "msquic", "2.5.1-beta"
    client_protocols = server_protocols = [HQ]
    no_client = no_server = {"http3": "msquic has no HTTP/3"}

    def environment(self, game, role):
        return {"LD_LIBRARY_PATH": str(self.program.parents[1] / "lib")}


def rounds(game):
    """What is fetched by one client after another: for two connections the first document, then the rest."""
    if game.case.connections == 2:
        return [game.urls[:1], game.urls[1:]]
    return [[url] for url in game.urls] if game.case.connections > 1 else [game.urls]


def first_line(command, environment=None):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=os.environ | (environment or {}))
    return (done.stdout + done.stderr).strip().split("\n")[0]


def everybody(target):
    return [Ours(target), Ngtcp2(), Aioquic(), QuicGo(), Quinn(target), Tquic(), S2nQuic(), Quiche(), Msquic()]
