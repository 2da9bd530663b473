"""What `bench/gate` measures of proxies besides requests on kept connections without TLS: handshakes, kept
connections over TLS, downloads, and memory at rest. Each proxy listens with and without TLS; certificates
are ECDSA P-256, and the key exchange is X25519.
"""

import pathlib
import random
import shutil
import subprocess
import sys
import time

from harness import ledger, processes, proxies, samples, tools

NGINX, HAPROXY, GATE = "nginx", "haproxy", "roundtrip relay"
CLIENTS = pathlib.Path(__file__).resolve().parent / "clients.py"
SHAKEN = 200
HANDSHAKES = {"full handshake": "full", "resumed handshake": "resumed"}
KEPT = {"kept, h1 + TLS": ["--h1", "-c8", "-m1"], "kept, h2 + TLS": ["-c8", "-m8"]}
DOWNLOADS = {"download, h1": (False, "--http1.1"), "download, h1 + TLS": (True, "--http1.1"), "download, h2 + TLS": (True, "--http2")}
RESTING = {"at rest, h1": "h1", "at rest, h1 + TLS": "h1+tls", "at rest, h2 + TLS": "h2+tls"}
REQUESTS, LARGE, MIB = 4000, 64, 1 << 20
# One-time allocations have been made before these are counted; after REST, nothing unnecessary is
# kept.
FIRST, CROWD, REST = 100, 1000, 3.5
RESTS = 3  # rounds of it: it varies little, and takes long
# The goals: shares of nginx's values, and KB for each connection.
MOST = {"full handshake": 0.65, "resumed handshake": 0.65, "kept, h1 + TLS": 1.1, "kept, h2 + TLS": 1.05,
        "download, h1": 0.7, "download, h1 + TLS": 0.7, "download, h2 + TLS": 0.65}
MOST_AT_REST = {"at rest, h2 + TLS": 8}
UNITS = {"handshake": "µs", "kept": "µs", "download": "s/GB", "at rest": "KB"}


class Pair:
    """One proxy, on one port without TLS and one with TLS."""

    def __init__(self, stage, name, made):
        self.stage, self.name, self.made = stage, name, made
        self.process = None

    def start(self, cpu):
        self.clear, self.tls = proxies.free_port(), proxies.free_port()
        command = self.made(self.stage, self.clear, self.tls)
        self.log = self.stage.place / f"{self.clear}.log"
        self.process = processes.start(command, cpu, self.log)
        if not all(processes.await_port(port, self.process) for port in (self.clear, self.tls)):
            self.end()
            tools.fail(f"{self.name} does not listen: {self.log.read_text(errors='replace')[-300:]}")

    def end(self):
        processes.end(self.process)

    def cpu(self, work):
        used = processes.cpu_seconds(self.process.pid)
        work()
        return processes.cpu_seconds(self.process.pid) - used


def measure(stage, builds, near, far, arguments):
    """Returns a section of Markdown; `builds` is {name: file} of the gateways."""
    certify(stage)
    (stage.place / "www" / "large").write_bytes(random.Random(1).randbytes(LARGE * MIB))
    pairs = [Pair(stage, NGINX, nginx)] + ([Pair(stage, HAPROXY, haproxy)] if shutil.which("haproxy") else [])
    pairs += [Pair(stage, name, lambda s, clear, tls, file=file: gate(s, clear, tls, file)) for name, file in builds.items()]
    runs, order = {}, random.Random(arguments.seed)
    try:
        for pair in pairs:
            pair.start(near)
            for work in works(pair, far).values():  # pools fill, memory is allocated
                work()
        for number in range(arguments.rounds):
            tools.say(f"TLS and downloads, round {number + 1} of {arguments.rounds}: {len(pairs)} arms")
            for pair in order.sample(pairs, len(pairs)):
                for what, work in works(pair, far).items():
                    runs.setdefault(what, {}).setdefault(pair.name, []).append(work())
    finally:
        for pair in pairs:
            if pair.process:
                pair.end()
    rounds = min(arguments.rounds, RESTS)
    for number in range(rounds):
        tools.say(f"memory at rest, round {number + 1} of {rounds}")
        for pair in order.sample(pairs, len(pairs)):
            for what, kind in RESTING.items():
                runs.setdefault(what, {}).setdefault(pair.name, []).append(at_rest(pair, kind, near, far))
    return show(runs, [pair.name for pair in pairs], arguments)


def works(pair, far):
    """Returns {what: how it is measured}."""
    found = {what: lambda kind=kind: handshakes(pair, kind, far) for what, kind in HANDSHAKES.items()}
    if shutil.which("h2load"):
        found |= {what: lambda words=words: kept(pair, words, far) for what, words in KEPT.items()}
    return found | {what: lambda how=how: download(pair, how, far) for what, how in DOWNLOADS.items()}


def handshakes(pair, kind, far):
    """One more connection provides the ticket."""
    return pair.cpu(lambda: run(far, sys.executable, CLIENTS, "handshakes", pair.tls, SHAKEN, kind)) * 1e6 / (SHAKEN + 1)


def kept(pair, words, far):
    """The handshakes count too; there are eight."""
    def ask():
        said = run(far, "h2load", "-n", REQUESTS, *words, f"https://127.0.0.1:{pair.tls}{proxies.OPEN}")
        if f"{REQUESTS} succeeded" not in said:
            tools.fail(f"{pair.name}: {said[-500:]}")
    return pair.cpu(ask) * 1e6 / REQUESTS


def download(pair, how, far):
    tls, version = how
    url = f"https://127.0.0.1:{pair.tls}/large" if tls else f"http://127.0.0.1:{pair.clear}/large"
    count = 4
    return pair.cpu(lambda: run(far, "curl", "-sfk", version, *["-o", "/dev/null", url] * count)) * 1e9 / (count * LARGE * MIB)


def at_rest(pair, kind, near, far):
    """The KB for each connection, in a process that has done nothing else."""
    pair.start(near)
    port = pair.clear if kind == "h1" else pair.tls
    crowds = []
    try:
        crowds.append(crowd(port, FIRST, kind, far))
        time.sleep(REST)
        before = processes.resident_mib(pair.process.pid)
        crowds.append(crowd(port, CROWD, kind, far))
        time.sleep(REST)
        return (processes.resident_mib(pair.process.pid) - before) * 1024 / CROWD
    finally:
        for each in crowds:
            each.stdin.close()
            each.wait(20)
        pair.end()


def crowd(port, count, kind, far):
    words = ["taskset", "-c", far, sys.executable, CLIENTS, "rest", port, count, kind]
    process = subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if process.stdout.readline().strip() != "ready":
        process.kill()
        tools.fail(f"not all {count} clients of {kind} were answered")
    return process


def run(far, *words):
    done = subprocess.run(list(map(str, ["taskset", "-c", far, *words])), capture_output=True, text=True, timeout=300)
    if done.returncode:
        tools.fail(f"{' '.join(map(str, words[:4]))}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def show(runs, names, arguments):
    rows = []
    for what, found in runs.items():
        unit = next(unit for words, unit in UNITS.items() if words in what)
        row = [f"{what}, {unit}"]
        for name in names:
            values = found[name]
            digits = 2 if unit == "s/GB" else 1 if unit == "KB" else 0
            row.append(f"{samples.median(values):.{digits}f} [{min(values):.{digits}f}–{max(values):.{digits}f}]")
        ratio, low, high = samples.paired_ratio(found[GATE], found[NGINX])
        rows.append([*row, f"{ratio:.2f} [{low:.2f}–{high:.2f}]"])
    return "\n\n".join([
        f"Medians of {arguments.rounds} interleaved rounds, with the [least–most] of them. A handshake is one with a request, {SHAKEN} of them one after "
        f"the other; kept: {REQUESTS} requests by h2load; a download is of {LARGE} MiB. At rest: {CROWD} connections that have asked once, {REST} s "
        f"later, in a process that was started for them ({min(arguments.rounds, RESTS)} rounds): what its resident memory grew by.",
        ledger.table(["", *names, f"{GATE} ÷ nginx"], rows), "\n".join(verdicts(runs))])


def verdicts(runs):
    for what, most in MOST.items():
        if what not in runs:
            yield f"- **not measured**: {what}"
            continue
        ratio, low, high = samples.paired_ratio(runs[what][GATE], runs[what][NGINX])
        yield f"- {'met' if ratio <= most else '**missed**'}: {what} ≤ {most} × nginx: {ratio:.2f} [{low:.2f}–{high:.2f}]"
    for what, most in MOST_AT_REST.items():
        found = samples.median(runs[what][GATE])
        yield f"- {'met' if found <= most else '**missed**'}: {what} ≤ {most} KB: {found:.1f}"


def certify(stage):
    """A certificate for nginx and HAProxy; the gateway makes a similar one."""
    key, certificate = stage.place / "tls.key", stage.place / "tls.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj",
                    "/CN=localhost", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    (stage.place / "both.pem").write_bytes(certificate.read_bytes() + key.read_bytes())


def nginx(stage, clear, tls):
    name = f"nginx-{clear}"
    return ["nginx", "-p", stage.place, "-e", stage.place / f"{name}.err", "-c", stage.file(f"{name}.conf", proxies.nginx_of(stage, name, f"""
  upstream backend {{ server 127.0.0.1:{stage.backend}; keepalive 128; keepalive_requests 1000000000; }}
  ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:some:10m; ssl_certificate {stage.place}/tls.pem; ssl_certificate_key {stage.place}/tls.key;
  server {{
    listen 127.0.0.1:{clear} backlog=4096; listen 127.0.0.1:{tls} ssl http2 backlog=4096;
    location / {{ proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; }}
  }}"""))]


def haproxy(stage, clear, tls):
    return ["haproxy", "-db", "-q", "-f", stage.file(f"haproxy-{clear}.cfg", f"""
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
  bind 127.0.0.1:{clear} backlog 4096
  bind 127.0.0.1:{tls} backlog 4096 ssl crt {stage.place}/both.pem alpn h2,http/1.1
  default_backend there
backend there
  server one 127.0.0.1:{stage.backend} pool-max-conn 128
""")]


def gate(stage, clear, tls, file):
    return [file, "gate", "run", "--config", stage.file(f"gate-{clear}.toml", f"""
[listen]
http = ["{proxies.local(clear)}"]
https = ["{proxies.local(tls)}"]
h3 = false
threads = 1
[upstream.backend]
servers = ["{proxies.http(stage.backend)}"]
[[route]]
upstream = "backend"
auth = false
""")]
