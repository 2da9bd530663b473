"""Exporters over an emulated path: at Prometheus' pace, for a day's worth of scrapes, and before faults.

`roundtrip path` runs this file at its near end; its results go into the JSON that it writes.

    probing.py paced|soak|fault SETTINGS    SETTINGS are JSON
"""

import http.client
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import processes, tools
from harness.proxies import free_port

OURS, THEIRS = "roundtrip exporter", "blackbox_exporter"
NEAR, FAR = 0, 1
# What an entry of lab/faults.toml may ask for, because a module and a path can do it.
POSSIBLE = {"cause", "strategies", "amount", "knobs", "path", "place", "costs", "slack", "not-with", "far", "beside", "alone"}
SYSCTLS = ["--sysctl", "net.ipv4.tcp_fastopen=3", "--sysctl", "net.ipv4.tcp_congestion_control=reno"]


def on_path(roundtrip, words, origin, mode, settings):
    """Runs `mode` at the near end of a path and returns what it wrote."""
    command = [roundtrip, "path", "--quiet", *words, "--origin", origin, "--", sys.executable, __file__, mode, json.dumps(settings)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        tools.fail(f"{' '.join(command)} gave no result (exit {done.returncode})")


def faults(count, seed):
    """Cases from lab/faults.toml: its cause, and how it is made."""
    entries = tomllib.loads((tools.ROOT / "lab/faults.toml").read_text())["fault"]
    possible = [entry for entry in entries if POSSIBLE.issuperset(entry)]
    draw = random.Random(seed)
    for number in range(count):
        entry = possible[number % len(possible)]
        strategy = draw.choice(entry["strategies"])
        amount = str(draw.randint(*entry.get("amount", [0, 0])))
        fill = lambda text: text.replace("@amount@", amount)
        words = [f"--{word.split('=', 1)[0]}={fill(word.split('=', 1)[1])}" for word in entry.get("path", [])]
        rtt = draw.choice([20, 50, 90])
        knobs = " ".join(["fast-open=64", *map(fill, entry.get("knobs", []))])
        yield {"cause": entry["cause"], "strategy": strategy, "words": [f"--rtt={rtt}ms", *words, *SYSCTLS], "knobs": knobs,
               "place": fill(entry.get("place", f"/bytes/{draw.randint(100, 9000)}"))}


class Exporters:
    """One or both exporters, with one file, on a separate processor."""

    def __init__(self, roundtrip, module, names):
        self.folder = tempfile.TemporaryDirectory(prefix="roundtrip-probing-")
        scratch = pathlib.Path(self.folder.name)
        config = scratch / "blackbox.yml"
        config.write_text(f"modules: {{it: {{prober: http, http: {{preferred_ip_protocol: ip4, {module}}}}}}}\n")
        self.ports = {name: free_port() for name in names}
        self.running = {}
        for name, port in self.ports.items():
            command = [roundtrip, "exporter", "--config", config, "--listen", f"127.0.0.1:{port}"]
            if name == THEIRS:
                command = ["prometheus-blackbox-exporter", f"--config.file={config}", f"--web.listen-address=127.0.0.1:{port}"]
            log = scratch / f"{port}.log"
            self.running[name] = processes.start(command, NEAR, log)
            if not processes.await_port(port, self.running[name]):
                tools.fail(f"{name} does not listen: {log.read_text()[-300:]}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.running.values():
            processes.end(process)
        self.folder.cleanup()

    def scrape(self, name, target, connection=None):
        """The samples, and the connection for the next one."""
        connection = connection or http.client.HTTPConnection("127.0.0.1", self.ports[name], timeout=60)
        path = f"/probe?module=it&target={urllib.parse.quote(target, safe='')}"
        connection.request("GET", path, headers={"X-Prometheus-Scrape-Timeout-Seconds": "10"})
        text = connection.getresponse().read().decode()
        lines = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in lines}, connection


def trusting():
    return f"tls_config: {{ca_file: {os.environ['ORIGIN_CA']}}}"


def paced(settings):
    """Each target once an interval, spread over it as Prometheus spreads them; one exporter after the other."""
    found = {}
    with Exporters(settings["roundtrip"], trusting(), [OURS, THEIRS]) as exporters:
        os.sched_setaffinity(0, {FAR})
        for number in range(settings["rounds"]):
            for name in random.Random(number).sample([OURS, THEIRS], 2):
                found.setdefault(name, []).append(interval(exporters, name, settings))
        held = {name: processes.resident_mib(process.pid) for name, process in exporters.running.items()}
    return {"rounds": found, "held": held}


def interval(exporters, name, settings):
    pid, targets = exporters.running[name].pid, settings["targets"]
    before, began = processes.cpu_seconds(pid), time.monotonic()
    failed, lock = [], threading.Lock()

    def keep_pace(first, step):
        connection = None
        for number in range(first, targets, step):
            time.sleep(max(0.0, began + settings["interval"] * number / targets - time.monotonic()))
            try:
                samples, connection = exporters.scrape(name, f"{os.environ['ORIGIN_URL']}bytes/{100 + number}", connection)
                fault = None if samples["probe_success"] == 1 else "no success"
            except (OSError, http.client.HTTPException, KeyError) as error:
                connection, fault = None, str(error)
            if fault:
                with lock:
                    failed.append(fault)

    threads = [threading.Thread(target=keep_pace, args=(first, 16)) for first in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"cpu_us": (processes.cpu_seconds(pid) - before) / targets * 1e6, "failed": len(failed), "took": time.monotonic() - began}


def soak(settings):
    """A day's worth of scrapes of each, both at once; their memory and descriptors, ten times."""
    with Exporters(settings["roundtrip"], trusting(), [OURS, THEIRS]) as exporters:
        os.sched_setaffinity(0, {FAR})
        end = time.monotonic() + settings["seconds"]
        done = {name: 0 for name in exporters.ports}
        wanted = settings["scrapes"] / settings["seconds"]

        def scrape(name, share):
            connection, began, own = None, time.monotonic(), 0
            while time.monotonic() < end:
                time.sleep(max(0.0, began + own / (wanted * share) - time.monotonic()))
                _, connection = exporters.scrape(name, f"{os.environ['ORIGIN_URL']}bytes/{100 + own % 10}", connection)
                own, done[name] = own + 1, done[name] + 1

        threads = [threading.Thread(target=scrape, args=(name, 1 / 8), daemon=True) for name in exporters.ports for _ in range(8)]
        for thread in threads:
            thread.start()
        held = {name: [] for name in exporters.ports}
        for number in range(1, 11):
            time.sleep(max(0.0, end - settings["seconds"] * (10 - number) / 10 - time.monotonic()))
            for name, process in exporters.running.items():
                descriptors = len(list(pathlib.Path(f"/proc/{process.pid}/fd").iterdir()))
                held[name].append([processes.resident_mib(process.pid), descriptors])
        for thread in threads:
            thread.join()
    return {"held": held, "scrapes": done}


def fault(settings):
    """What one probe over this path says: the causes, by what they cost."""
    own = f"{trusting()}, roundtrip: {{strategy: {settings['strategy']}}}"
    clear = "clear" in settings["strategy"]
    with Exporters(settings["roundtrip"], own, [OURS]) as exporters:
        base = os.environ["ORIGIN_HTTP_URL" if clear else "ORIGIN_URL"]
        samples, _ = exporters.scrape(OURS, base.rstrip("/") + settings["place"])
    costs = {name.split('"')[1]: value for name, value in samples.items() if name.startswith("probe_finding_seconds{")}
    return {"found": sorted(costs, key=costs.get, reverse=True), "success": samples.get("probe_success")}


if __name__ == "__main__":
    json.dump({"paced": paced, "soak": soak, "fault": fault}[sys.argv[1]](json.loads(sys.argv[2])), sys.stdout)
