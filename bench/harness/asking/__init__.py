"""Exchanges of other projects' clients over our path, recorded at both ends: faults that need nothing of the client."""

import json
import pathlib
import random
import shutil
import subprocess
import tomllib

from harness import tools

HERE = pathlib.Path(__file__).resolve().parent
FAULTS = HERE.parents[2] / "lab" / "faults.toml"
# The keys of faults that work with any client; faults with other keys change our client, or the far end.
KNOWN = {"cause", "strategies", "amount", "costs", "slack", "path", "knobs", "place", "body", "server-sysctl", "far", "alone", "not-with"}
# Each is more than one exchange, and not every client makes the second.
SEVERAL = {"redirect", "redirect-to-https", "auth-challenge", "too-early"}
# A client's own time cannot be changed.
ITS_OWN = ["slow-client-library", "late-request", "client-starved"]
ROUND_TRIPS, SHORT = (0.5, 20, 150), 1
HEALTHY, HEALTHY_SHARE = "none", 0.2
SIZES = (0, 10, 1_000, 5_000)
PLAIN = ["h1+clear", "h1+tls1.3", "h2+tls1.3"]
CONGESTION = "net.ipv4.tcp_congestion_control"
SECONDS = 60


class Client:
    """A program that asks: what it needs, the protocols it has, its command, and knobs that it does not understand."""

    def __init__(self, name, needs, protocols, command, made=None, lacks=()):
        self.name, self.needs, self.protocols, self.command, self.made, self.lacks = name, needs, protocols, command, made, lacks

    def missing(self):
        return next((need for need in self.needs if shutil.which(need) is None), None)


def curl(url, size, http, _):
    body = ["--data-binary", "x" * size] if size else []
    return ["curl", "-s", "-o", "/dev/null", "--max-time", "30", "--http1.1" if http == "h1" else "--http2", *body, url]


CLIENTS = [
    Client("curl", ["curl"], ("h1", "h2"), curl),
    Client("Python", ["python3"], ("h1",), lambda url, size, http, _: ["python3", HERE / "asking.py", url, size],
           # It takes a 103 for the answer.
           lacks=("early-hints",)),
    Client("Go", ["go"], ("h1", "h2"), lambda url, size, http, place: [place / "asking", url, size, http],
           lambda place: ["go", "build", "-o", place / "asking", HERE / "asking.go"]),
    Client("Node", ["node"], ("h1",), lambda url, size, http, _: ["node", HERE / "asking.js", url, size]),
    Client("Java", ["java", "javac"], ("h1", "h2"), lambda url, size, http, place: ["java", "-cp", place, "Asking", url, size, http],
           lambda place: ["javac", "-d", place, HERE / "Asking.java"]),
]


def clients(place):
    """Those that are installed, ready to ask."""
    ready = []
    for client in CLIENTS:
        missing = client.missing()
        command = client.made(place) if client.made and not missing else None
        if missing:
            tools.say(f"without {client.name}: {missing} is missing")
        elif command and subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL).returncode:
            tools.say(f"without {client.name}: {command[0]} failed")
        else:
            ready.append(client)
    return ready


def cases(roundtrip, place, first, count, seed):
    """Records `count` exchanges as NUMBER.pcapng, and returns what was put in, as `lab run faults` does."""
    drawn, ready = random.Random(seed), clients(place)
    entries = [entry for entry in tomllib.loads(FAULTS.read_text())["fault"]
               if set(entry) <= KNOWN and entry["cause"] not in SEVERAL]
    done = []
    for number in range(count if ready else 0):
        client, rtt = ready[number % len(ready)], ROUND_TRIPS[number % len(ROUND_TRIPS)]
        case = draw(client, entries, rtt, drawn)
        case["seed"] = drawn.randrange(1 << 32)
        tools.say(f"{client.name}: {case['fault']}")
        if record(roundtrip, client, case, place, place / f"{first + len(done)}.pcapng"):
            done.append(case)
    return done


def draw(client, entries, rtt, drawn):
    def possible(entry):
        if set(entry.get("knobs", [])) & set(client.lacks):
            return []
        return [word for word in entry["strategies"] if word in ("h1+tls1.2", "h2+tls1.2", *PLAIN) and word[:2] in client.protocols]

    fitting = [entry for entry in entries if possible(entry) and not (entry.get("far") and rtt <= SHORT)]
    entry = {"cause": HEALTHY, "strategies": PLAIN, "costs": "0"} if drawn.random() < HEALTHY_SHARE else drawn.choice(fitting)
    strategy = drawn.choice(possible(entry))
    amount = drawn.randint(*entry.get("amount", (0, 0)))

    def filled(key):
        return [word.replace("@amount@", str(amount)) for word in entry.get(key, [])]

    cost = sum(term(words.split(), amount, rtt) for words in entry["costs"].split("+"))
    return {"fault": entry["cause"], "path": " ".join([f"{rtt} ms", *filled("path")]), "client": client.name,
            "strategy": f"{client.name} {strategy}",
            "rtt": rtt, "words": filled("path"), "knobs": filled("knobs"), "sysctl": filled("server-sysctl"),
            "place": entry.get("place", f"/bytes/{drawn.choice(SIZES)}").replace("@amount@", str(amount)),
            "body": int(entry.get("body", "0").replace("@amount@", str(amount))), "scheme": "http" if "clear" in strategy else "https",
            "http": strategy[:2], "named": "–", "first": False, "ms_injected": cost, "second": None, "total_ms": None,
            # The kernel's timers and the sizes of this client's flights change the costs of the other faults.
            "findings": [] if entry.get("slack") else [[entry["cause"], cost]], "machine_ms": 0, "allowed": ITS_OWN}


def allowed(setting):
    """The host decides which congestion controls a namespace can use."""
    name, control = setting.split("=")
    return name != CONGESTION or control in pathlib.Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text().split()


def term(words, amount, rtt):
    unit = {"R": rtt, "amount": amount}.get(words[-1])
    return float(words[0]) if unit is None else unit * (float(words[0]) if len(words) > 1 else 1)


def record(roundtrip, client, case, place, recording):
    url = f"{case['scheme']}://server{case['place']}"
    settings = [setting for setting in case["sysctl"] if allowed(setting)] or [f"{CONGESTION}=reno"]
    said = place / "path.json"
    command = [roundtrip, "path", "--json", "--output", said, "--rtt", f"{case['rtt']}ms", "--pcapng", recording, "--seed", case["seed"],
               *(f"--{word}" for word in case["words"]), "--origin", " ".join(case["knobs"]) or "think=0ms",
               *(word for setting in settings for word in ("--sysctl", setting)),
               "--", *client.command(url, case["body"], case["http"], place)]
    try:
        done = subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        tools.say(f"{client.name} took longer than {SECONDS} s")
        return False
    if done.returncode:
        tools.say(f"{client.name} failed, {case['fault']} {url}: {done.stderr.strip()[-300:]}")
        return False
    ways = json.loads(said.read_text())
    case["machine_ms"] = max(ways[way]["late_max_ms"] or 0 for way in ("up", "down"))
    return True
