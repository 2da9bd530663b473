"""Runs RDAP clients at the near end of a path, one after another, and counts what each costs: `python3
lookups.py PLAN RESULTS`.

The plan is JSON, written by bench/rdap: groups of arms that share a memory, and the number of lookups for
each. RESULTS gets a line of JSON for each run. Time, processor time and peak memory are the kernel's accounts
of the process (wait4); bytes are those of the near end's interface, including link headers; connections and
answers are what the server saw.
"""

import collections
import ctypes
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import ssl
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
# A shell with little memory forks the client and exits, so that the client's peak does not include its launcher: the
# orphaned client is then waited for here. The shell says which process it is, because a client can leave others
# behind that end before it, or before the next one.
LAUNCH = 'ulimit -n 20000 2>/dev/null; read go; out=$1 err=$2; shift 2; "$@" >"$out" 2>"$err" & echo $!'
# For this many seconds, a client's background copy may wait for tickets.
LEFT_BEHIND = 5


def main():
    plan = json.loads(pathlib.Path(sys.argv[1]).read_text())
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"{Near.doing}: not done after {plan['limit']} s"))
    with open(sys.argv[2], "w") as results:
        near = Near(plan, results)
        near.serve()
        try:
            near.all()
        finally:
            near.end()


class Near:
    """One near end, its clients, and the server's account of them."""

    doing = "nothing"

    def __init__(self, plan, results):
        self.plan, self.results = plan, results
        self.scratch = pathlib.Path(plan["scratch"])
        self.ca = os.environ.get("ORIGIN_CA") or plan["ca"]
        self.server = Nginx(plan["log"], bool(plan["serve"])) if plan["log"] else Origin(plan["name"], self.ca)
        self.own, self.told = None, False

    def serve(self):
        """Starts the server at this end, if the plan says so: it shows what is possible without a path."""
        if not self.plan["serve"]:
            return
        self.own = subprocess.Popen(["/bin/sh", "-c", self.plan["serve"]], start_new_session=True)
        for _ in range(400):
            if pathlib.Path(self.plan["pid"]).exists():
                return
            time.sleep(0.1)
        sys.exit("the server did not start")

    def end(self):
        if self.own:
            os.killpg(self.own.pid, signal.SIGTERM)
            self.own.wait(timeout=20)

    def all(self):
        groups = [[arm for arm in group if self.check(group, arm)] for group in self.plan["groups"]]
        source = random.Random(self.plan["seed"])
        for number in range(1, self.plan["rounds"] + 1):
            for count in sorted({count for group in groups for arm in group for count in arm["counts"]}):
                chosen = [group for group in groups if any(count in arm["counts"] for arm in group)]
                source.shuffle(chosen)
                for group in chosen:
                    self.group(group, count, number)

    def check(self, group, arm):
        """Makes a lookup that is not counted: a client that fails would seem cheap. It also fills the page cache."""
        if arm is group[0]:
            self.forget()
        try:
            self.one(arm, arm["least"])
        except Failed as error:
            self.write({"arm": arm["name"], "failed": str(error)})
            print(f"*** {arm['name']} is left out: {error}", file=sys.stderr, flush=True)
            return False
        return True

    def group(self, group, count, number):
        self.forget()
        for arm in group:
            if count not in arm["counts"] and arm["timed"]:
                continue
            try:
                found = self.one(arm, count if arm["timed"] else 1)
            except Failed as error:
                self.write({"arm": arm["name"], "count": count, "round": number, "failed": str(error)})
                print(f"*** {arm['name']}, {count} lookups: {error}", file=sys.stderr, flush=True)
                continue
            if arm["timed"]:
                self.write({"arm": arm["name"], "count": count, "round": number, **found})
                print(f"round {number}: {count:5} lookups, {found['wall']:8.3f} s, {found['connections']} connections: {arm['name']}",
                      file=sys.stderr, flush=True)

    def forget(self):
        """Removes our stored data, and the kernel's fast-open cookies, which also needs root outside."""
        shutil.rmtree(self.scratch / "memory", ignore_errors=True)
        if self.plan["forget"] and subprocess.run(self.plan["forget"], capture_output=True).returncode:
            self.plan["forget"] = None
        if not self.plan["forget"] and not self.told:
            self.told = True
            self.write({"kept": "The kernel kept its fast open cookies from run to run; forgetting them takes root and iproute2."})

    def one(self, arm, count):
        Near.doing = f"{arm['name']}, {count} lookups"
        before = self.server.account()
        bytes_before = interfaces()
        names = [self.plan["domain"].format(number) for number in range(count)]
        lists = {"@NAMES@": "\n".join(names), "@URLS@": "\n".join(f"{self.plan['base']}/domain/{name}" for name in names)}
        lists["@CURL@"] = "\n".join(f'url = "{url}"' for url in lists["@URLS@"].splitlines())
        words = {"@N@": str(count), "@CA@": self.ca, "@MEMORY@": str(self.scratch / "memory")}
        for word, text in lists.items():
            words[word] = str(self.scratch / word.strip("@").lower())
            pathlib.Path(words[word]).write_text(text + "\n")
        wall = cpu = peak = 0
        for name in names if arm["each"] else [names[0]]:
            spent, used, most = self.run(arm, words | {"@NAME@": name})
            self.prove(arm, name, count)
            wall, cpu, peak = wall + spent, cpu + used, max(peak, most)
        time.sleep(self.plan["settle"])  # what is still in flight
        up, down = (now - then for now, then in zip(interfaces(), bytes_before))
        seen = self.server.since(before)
        if seen["answers"] < count:
            raise Failed(f"the server gave {seen['answers']} answers to {count} lookups")
        return {"wall": wall, "cpu": cpu, "rss": peak, "up": up, "down": down, **seen}

    def run(self, arm, words):
        command = []
        for part in arm["command"]:
            for word, value in words.items():
                part = part.replace(word, value)
            command.append(part)
        environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        environment |= {name: self.ca for name in ["SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"]}
        environment |= {name: str(self.scratch / "home") for name in ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"]}
        shell = subprocess.Popen(["/bin/sh", "-c", LAUNCH, "sh", str(self.scratch / "out"), str(self.scratch / "err"), *command],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        time.sleep(0.005)  # the shell is ready before the clock starts
        signal.alarm(self.plan["limit"])
        began = time.perf_counter()
        shell.stdin.write(b"\n")
        shell.stdin.close()
        client = int(shell.stdout.readline())
        shell.stdout.close()
        shell.wait(timeout=10)  # then the client is a child of this process
        _, status, usage = os.wait4(client, 0)
        wall = time.perf_counter() - began
        signal.alarm(0)
        used = usage.ru_utime + usage.ru_stime + self.left_behind()
        if status:
            told = (self.scratch / "err").read_text(errors="replace").strip().splitlines()
            raise Failed(f"exit {os.waitstatus_to_exitcode(status)}: {told[-1] if told else 'it said nothing'}")
        return wall, used, usage.ru_maxrss / 1024

    def left_behind(self):
        """Waits for what the client left in the background; its processor time."""
        used, until = 0, time.monotonic() + LEFT_BEHIND
        while time.monotonic() < until:
            try:
                pid, _, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid and self.own and pid == self.own.pid:
                raise Failed("the server ended")
            if pid:
                used += usage.ru_utime + usage.ru_stime
            elif self.own:
                break  # the server is a child too, and it stays
            else:
                time.sleep(0.01)
        return used

    def prove(self, arm, name, count):
        """Checks by its output that the client got its answers."""
        out = (self.scratch / "out").read_text(errors="replace")
        proof = arm["proof"]
        if proof == "name":
            found, count = len(re.findall(rf'"ldhName":\s*"{re.escape(name)}"', out)) > 0, True
        elif proof == "codes":
            found = out.splitlines().count("200")
        elif proof == "lines":
            found = sum(line.startswith("{") and '"ldhName":"' in line.replace(" ", "") for line in out.splitlines())
        elif proof == "found":
            found = int(re.search(r"(\d+) found", (self.scratch / "err").read_text())[1])
        else:
            found = int(re.search(r"(\d+) 2xx", out)[1])
        if found != count:
            raise Failed(f"it has {found} answers of {count}")

    def write(self, line):
        print(json.dumps(line), file=self.results, flush=True)


class Failed(Exception):
    pass


class Nginx:
    """Counts by the access log, which has a line for each answer, and by the near end's count of opened
    connections, used or not.
    """

    def __init__(self, log, beside):
        self.log, self.beside = pathlib.Path(log), beside

    def account(self):
        return self.log.stat().st_size if self.log.exists() else 0, active_opens()

    def since(self, before):
        offset, opened = before
        with self.log.open() as log:
            log.seek(offset)
            lines = [line.split() for line in log]
        good = [line for line in lines if line[1] == "200"]
        first = {line[0]: line for line in reversed(good)}
        kinds = collections.Counter(line[2] for line in good)
        return {"answers": len(good), "connections": len({line[0] for line in lines}) if self.beside else active_opens() - opened,
                "early": sum(line[4] == "1" for line in good),
                "resumed": sum(line[3] == "r" for line in first.values()), "version": ", ".join(sorted(kinds)), "refused": len(lines) - len(good)}


class Origin:
    """Counts by the counters of `roundtrip origin`, read over the path between two runs, without that request
    itself.
    """

    def __init__(self, name, ca):
        self.name, self.trust = name, ssl.create_default_context(cafile=ca)

    def account(self):
        link = http.client.HTTPSConnection(self.name, timeout=20, context=self.trust)
        try:
            link.request("GET", "/stats")
            return json.loads(link.getresponse().read())
        finally:
            link.close()

    def since(self, before):
        now = self.account()
        grown = {name: now[name] - before[name] for name in now}
        over = {"h1_requests": 1}  # this request
        kinds = [word for word, name in [("HTTP/1.1", "h1_requests"), ("HTTP/2.0", "h2_requests"), ("HTTP/3.0", "h3_requests")]
                 if grown[name] - over.get(name, 0) > 0]
        return {"answers": grown["requests"] - 1, "connections": grown["tcp_connections"] - 1 + grown["quic_connections"],
                "early": grown["early_requests"], "resumed": grown["tls_resumed"] + grown["quic_resumed"], "version": ", ".join(kinds), "refused": 0}


def active_opens():
    """The number of TCP connections opened in this network namespace so far."""
    head, values = [line.split() for line in pathlib.Path("/proc/self/net/snmp").read_text().splitlines() if line.startswith("Tcp:")]
    return int(values[head.index("ActiveOpens")])


def interfaces():
    """Bytes sent and received by all interfaces but the loopback."""
    up = down = 0
    for line in pathlib.Path("/proc/self/net/dev").read_text().splitlines()[2:]:
        name, fields = line.split(":", 1)
        if name.strip() != "lo":
            values = fields.split()
            up, down = up + int(values[8]), down + int(values[0])
    return up, down


if __name__ == "__main__":
    main()
