"""What a case is, and the words that stories and healthy exchanges are written in."""

import dataclasses
import functools
import os
import random
import signal
import subprocess
import time
from typing import Any, Callable

import raw
import relay
from relay import ACK, DROP, FIN, SYN, UP, Way

SITE = "https://site.test/"
CLEAR = "http://site.test/"
# A run is repeated if the machine was stopped by its host for this many ticks meanwhile.
LEAST_STOLEN, MOST_TRIES = 3, 4


@dataclasses.dataclass
class Case:
    """One exchange whose truth is known because the case made it."""

    name: str
    serve: Callable
    url: str
    args: tuple = ()
    rtt: float = 40.0
    # The causes that may come first. Empty: a healthy exchange.
    want: frozenset = frozenset()
    # Findings that a healthy exchange may have.
    allow: frozenset = frozenset()
    # What the first cause must cost, in ms; None where the arithmetic is not exact.
    ms: float = None
    # (party, ms): what `waited_for` must say.
    party: tuple = None
    # Round trips of the body, where they are known.
    rounds: int = None
    # The kind of failure (`kind` in the JSON), if the exchange must fail.
    fail: frozenset = frozenset()
    rule: Callable = None
    up: dict = dataclasses.field(default_factory=dict)
    down: dict = dataclasses.field(default_factory=dict)
    stage: dict = dataclasses.field(default_factory=dict)
    around: Callable = None
    resolve: str = None
    seconds: int = 15
    # One exchange is made first, over a short path, because a server's first answer costs it more.
    warm: bool = True
    # Seconds before each run, for a server that takes long to end its last connection.
    settle: float = 0.0

    @property
    def is_healthy(self):
        return not self.want and not self.fail

    def run(self, stage, binary, repeat, first_seed=0):
        """The results of `repeat` probes, one list for each."""
        # What uploads send.
        (stage.dir / "site").symlink_to(stage.pki / "site")
        self.serve(stage)
        if self.warm:
            stage.path(Way(), Way(), None, 0)
            for _ in range(2):
                try:
                    self.ask(stage, binary, None, 8)
                except (RuntimeError, subprocess.TimeoutExpired):
                    break
        runs = []
        for number in range(repeat):
            for _ in range(MOST_TRIES):
                stolen = stolen_ticks()
                run = self.once(stage, binary, number, first_seed)
                if stolen_ticks() - stolen < LEAST_STOLEN:
                    break
            runs.append(run)
        return runs

    def once(self, stage, binary, number, first_seed):
        """The results of one probe, or what went wrong."""
        time.sleep(self.settle)
        up, down = (Way(**{"delay": self.rtt / 2, **way}) for way in (self.up, self.down))
        seed = sum(map(ord, self.name)) * 64 + number + (first_seed << 20)
        stage.path(up, down, self.rule() if self.rule else None, seed)
        around = functools.partial(self.around, stage) if self.around else None
        try:
            return self.ask(stage, binary, around, self.seconds)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return str(error)[:300]
        finally:
            # The connection ends at the other end, too.
            time.sleep(self.rtt / 1e3 + 0.01)
            stage.end_path()

    def ask(self, stage, binary, around, seconds):
        resolve = self.resolve
        entries = (
            ["site.test:443:10.9.0.1", "site.test:80:10.9.0.1"]
            if resolve is None
            else [resolve] if resolve else []
        )
        flags = [word for entry in entries for word in ("--resolve", entry)]
        return stage.probe(
            binary,
            [*flags, "--cacert", str(stage.pki / "ca.pem"), *self.args, self.url],
            around,
            seconds,
        )


def stolen_ticks():
    with open("/proc/stat") as stat:
        return int(stat.readline().split()[8])


def words(text):
    return frozenset(text.split())


def story(name, serve, want, url=CLEAR + "b600", args="", **more):
    fail = words(more.pop("fail", ""))
    # A case that fails, or that changes the client, does not need a warm server.
    more.setdefault("warm", not fail and "around" not in more and more.get("resolve") != "")
    return Case(name, serve, url, tuple(args.split()), want=words(want), fail=fail, **more)


def healthy(name, serve, url=SITE + "b600", args="", allow="", **more):
    return Case(name, serve, url, tuple(args.split()), allow=words(allow), **more)


# Servers of our own.


def sockets(what, tls=None, port=None, **more):
    """A raw server; `tls` are the arguments of `raw.context`."""

    def start(stage):
        secure = raw.context(stage.pki, **tls) if tls is not None else None
        at = port or (443 if secure else 80)
        stage.fork_far(lambda: raw.serve(what, at, secure, **more), at)

    return start


def both(*starts):
    """Several servers, in order."""

    def start(stage):
        for one in starts:
            one(stage)

    return start


def with_names(records, start, resolv="nameserver 10.9.0.1\n", **more):
    """A name server at the far end, and a resolv.conf that names it."""

    def begin(stage):
        file = stage.dir / "resolv.conf"
        file.write_text(resolv)
        subprocess.run(["mount", "--bind", str(file), "/etc/resolv.conf"], check=True)
        if records:
            stage.fork_far(lambda: raw.names(records, **more), 53)
        start(stage)

    return begin


# Rules for single packets.


def nth(way, matches, *numbers, verdict=DROP):
    """Applies `verdict` to the matching packets of one direction, by their number (from 1)."""

    def make():
        count = 0

        def rule(packet):
            nonlocal count
            if packet.way == way and matches(packet):
                count += 1
                if count in numbers:
                    return verdict
            return None

        return rule

    return make


def data(packet):
    return packet.has_data()


def syn(packet):
    return packet.is_tcp(SYN, ACK)


def syn_ack(packet):
    return packet.is_tcp(SYN | ACK)


def lose(way, *numbers, which=data):
    """The packets of these numbers are lost."""
    return nth(way, which, *numbers)


def after_request(number, least=1, most=1 << 16):
    """Loses the `number`th data packet (of a size) that comes down after the request went up.

    The request is the second flight of the client behind TLS, the first without.
    """

    def make():
        state = {"up": 0, "down": 0, "seen": False}

        def rule(packet):
            if not packet.has_data():
                return None
            if packet.way == UP:
                if not packet.payload.startswith(b"\x16\x03"):
                    # Not a ClientHello: a request, or the Finished with it.
                    state["seen"] = state["seen"] or packet.payload[:1] in (
                        b"\x14",
                        b"\x17",
                        b"G",
                        b"P",
                    )
            elif state["seen"] and least <= len(packet.payload) <= most:
                state["down"] += 1
                if state["down"] == number:
                    return DROP
            return None

        return rule

    return make


def every(way, matches, fraction, verdict):
    """Applies `verdict` to a fraction of the packets, by a fixed draw."""

    def make():
        draw = random.Random(7)

        def rule(packet):
            if packet.way == way and matches(packet) and draw.random() < fraction:
                return verdict
            return None

        return rule

    return make


def pure_ack(packet):
    return packet.is_tcp(ACK, SYN | FIN | relay.RST) and not packet.payload


def anything(packet):
    return True


# Clients in trouble.


def stopped(after, ms):
    """The client is stopped `after` ms after its start, for `ms`."""

    def around(stage, child):
        time.sleep(after / 1e3)
        os.kill(child.pid, signal.SIGSTOP)
        time.sleep(ms / 1e3)
        os.kill(child.pid, signal.SIGCONT)

    return around


def crowded(loops):
    """The client runs with the lowest priority on a core that busy loops occupy."""

    def around(stage, child):
        os.setpriority(os.PRIO_PROCESS, child.pid, 19)
        os.sched_setaffinity(child.pid, {0})
        busy = []
        for _ in range(loops):
            busy.append(
                subprocess.Popen(
                    ["sh", "-c", "while :; do :; done"],
                    preexec_fn=lambda: os.sched_setaffinity(0, {0}),
                )
            )
        stage.busy = busy
        try:
            child.wait(12)
        except subprocess.TimeoutExpired:
            pass
        for one in busy:
            one.kill()
            one.wait()

    return around


def quota(ms, period=100):
    """A busy loop shares core and control group with the client; both may run `ms` a period."""

    def around(stage, child):
        v1 = os.path.isdir("/sys/fs/cgroup/cpu")
        group = (
            "/sys/fs/cgroup/cpu/" if v1 else "/sys/fs/cgroup/"
        ) + f"gauntlet-{time.monotonic_ns()}"
        os.mkdir(group)
        busy = None

        def join():
            os.sched_setaffinity(0, {1})
            write(group + "/cgroup.procs", 0)

        try:
            if v1:
                write(group + "/cpu.cfs_period_us", period * 1000)
                write(group + "/cpu.cfs_quota_us", ms * 1000)
            else:
                write(group + "/cpu.max", f"{ms * 1000} {period * 1000}")
            for thread in os.listdir(f"/proc/{child.pid}/task"):
                os.sched_setaffinity(int(thread), {1})
            write(group + "/cgroup.procs", child.pid)
            busy = subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=join)
            child.wait(12)
            if int(dict(line.split() for line in open(group + "/cpu.stat"))["nr_throttled"]) == 0:
                raise RuntimeError("the quota was never used up")
        finally:
            for one in (child, busy):
                if one:
                    one.kill()
                    one.wait()
            os.rmdir(group)

    return around


def write(path, value):
    with open(path, "w") as file:
        file.write(str(value))


def slow_reader(each, ms):
    """A reader takes the body from the pipe `out`, `each` bytes at a time and `ms` apart."""

    def around(stage, child):
        if os.fork() == 0:
            with open(stage.dir / "out", "rb", buffering=0) as pipe:
                while pipe.read(each):
                    time.sleep(ms / 1e3)
            os._exit(0)

    return around
