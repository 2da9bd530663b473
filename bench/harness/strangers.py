"""First datagrams of QUIC with spoofed addresses, sent to a running gate: what they cost it, and whether clients are
served meanwhile."""

import json
import pathlib
import socket
import subprocess
import tempfile
import time
import urllib.request

from . import processes, tools

KINDS = ["Half", "Whole", "Failing", "Closing", "Crumbs", "FarAhead"]
CONFIG = """[listen]
https = ["127.0.0.1:{port}"]
h3 = true
threads = 1
[admin]
listen = "127.0.0.1:{admin}"
[upstream.backend]
servers = ["http://127.0.0.1:{backend}"]
[[route]]
upstream = "backend"
auth = false
"""
# RFC 9000 §8.1.2: clients that were asked to prove their address.
RETRIES = 'roundtrip_gate_limits_met_total{limit="quic_unproved"} '
REFUSED = 'roundtrip_gate_limits_met_total{limit="quic_memory"} '


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def floods(roundtrip, count):
    """For each kind: the effects of `count` datagrams, each from another address."""
    tools.say("building: cargo build -p roundtrip-gate --example strangers")
    built = ["cargo", "build", "--quiet", "-p", "roundtrip-gate", "--example", "strangers"]
    if subprocess.run(built, cwd=tools.ROOT).returncode:
        tools.fail("the build failed")
    flood = tools.target() / "debug" / "examples" / "strangers"
    return [run(roundtrip, flood, kind, count) for kind in KINDS]


def run(roundtrip, flood, kind, count):
    tools.say(f"{count} first datagrams: {kind}")
    port, admin, backend = (free_port() for _ in range(3))
    with tempfile.TemporaryDirectory(prefix="roundtrip-strangers-") as scratch:
        config = pathlib.Path(scratch) / "gate.toml"
        config.write_text(CONFIG.format(port=port, admin=admin, backend=backend))
        started = []
        try:
            started.append(start([roundtrip, "origin", "--http-port", backend], backend))
            gate = start([roundtrip, "gate", "run", "--config", config], port)
            started.append(gate)
            return measure(roundtrip, flood, kind, count, gate, port, admin)
        finally:
            for process in started:
                processes.end(process)


def start(command, port):
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    if not processes.await_port(port, process):
        processes.end(process)
        tools.fail(f"{' '.join(map(str, command))}: it does not listen")
    return process


def measure(roundtrip, flood, kind, count, gate, port, admin):
    def regular(times):
        # Each connection except the first has the token of an earlier one.
        command = [roundtrip, "probe", "-q", "-k", "--http3", "-c", str(times), "--interval", "0.1", "--json",
                   f"https://127.0.0.1:{port}/"]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    answered(regular(3))
    before, used, began = processes.resident_mib(gate.pid), processes.cpu_seconds(gate.pid), time.monotonic()
    flooding = subprocess.Popen([flood, f"127.0.0.1:{port}", str(count), kind], stdout=subprocess.PIPE, text=True)
    most, served, asked = before, 0, 0
    while flooding.poll() is None:
        client = regular(5)
        while client.poll() is None:
            most = max(most, processes.resident_mib(gate.pid))
            time.sleep(0.05)
        well, all_of_them = answered(client)
        served, asked = served + well, asked + all_of_them
    if flooding.returncode:
        tools.fail(f"{flood} failed")
    seconds, cpu = time.monotonic() - began, processes.cpu_seconds(gate.pid) - used
    metrics = urllib.request.urlopen(f"http://127.0.0.1:{admin}/metrics", timeout=10).read().decode()
    # Builds without this counter report nothing.
    counted = [metrics.split(line, 1)[1].split()[0] if line in metrics else "–" for line in (RETRIES, REFUSED)]
    return {"kind": kind, "seconds": seconds, "retries": counted[0], "refused": counted[1], "grown": most - before,
            "cpu": cpu, "served": served, "asked": asked}


def answered(client):
    """How many of its requests were answered, and how many there were."""
    results = json.loads(client.communicate(timeout=60)[0] or "{}").get("results", [])
    return sum(1 for each in results if (each.get("http") or {}).get("status") == 200), len(results)
