"""The stage of one case: two network namespaces, a relay between them, programs at either end.

Namespaces are nameless, and a case runs in a process namespace of its own: when its first process
ends, for whatever reason, the kernel ends all others and drops the devices.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import time
import traceback

import relay

NEAR, FAR = "10.9.0.2", "10.9.0.1"
NEAR6, FAR6 = "fd09::2", "fd09::1"
CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x20000000, 0x40000000
MS_REC, MS_PRIVATE, MS_BIND = 16384, 1 << 18, 4096
PR_SET_PDEATHSIG = 1
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
# The case should feel little of the machine's other load.
NICE = -15

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    if getattr(libc, name)(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")


def die_with_parent():
    call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL)


class Stage:
    """Both namespaces. Made inside the process namespace of a case."""

    def __init__(self, directory, pki, control="cubic", mtu=1500, near=(), far=()):
        self.dir, self.pki = pathlib.Path(directory), pki
        self.relay = None
        call("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
        call("mount", b"proc", b"/proc", b"proc", 0, None)
        self.far = self._namespace("far", FAR, FAR6, mtu, control, far)
        self.near = self._namespace("near", NEAR, NEAR6, mtu, control, near)

    def _namespace(self, name, v4, v6, mtu, control, settings):
        call("unshare", CLONE_NEWNET)
        # Measured state of earlier exchanges must not leak into the next one.
        for key, value in (
            ("net.ipv4.tcp_no_metrics_save", 1),
            ("net.ipv6.conf.default.accept_dad", 0),
            ("net.ipv6.conf.all.accept_dad", 0),
            ("net.ipv4.ip_unprivileged_port_start", 0),
            *settings,
        ):
            self._set(key, value)
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
        setattr(self, f"{name}_tun", device)
        for words in (
            f"link set lo up",
            f"addr add {v4}/24 dev {name}",
            f"-6 addr add {v6}/64 dev {name} nodad",
            f"link set {name} mtu {mtu} txqueuelen 20000 up",
        ):
            subprocess.run(["ip", *words.split()], check=True)
        # By the route, because a namespace may not set every congestion control as its default.
        for words in (
            f"route change 10.9.0.0/24 dev {name} src {v4} congctl {control}",
            f"-6 route add fd09::/64 dev {name} metric 10 congctl {control}",
        ):
            subprocess.run(["ip", *words.split()], check=True)
        return os.open("/proc/self/ns/net", os.O_RDONLY)

    @staticmethod
    def _set(key, value):
        pathlib.Path("/proc/sys", key.replace(".", "/")).write_text(f"{value}\n")

    @contextlib.contextmanager
    def at_far(self):
        call("setns", self.far, CLONE_NEWNET)
        try:
            yield
        finally:
            call("setns", self.near, CLONE_NEWNET)

    def at(self, near):
        return contextlib.nullcontext() if near else self.at_far()

    def far_address(self, *addresses):
        for address in addresses:
            with self.at_far():
                subprocess.run(["ip", "addr", "add", f"{address}/24", "dev", "far"], check=True)

    # Programs at the far end, or at the client's.

    def serve(self, *command, port=None, env=None, seconds=10, near=False):
        """Starts a server, and waits until it listens."""
        log = open(self.dir / f"{pathlib.Path(command[0]).name}.log", "ab")
        with self.at(near):
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.dir,
                env={**os.environ, **(env or {})},
                preexec_fn=start,
            )
        if port:
            self.wait_for(port, child, log.name, seconds, near)
        return child

    def fork_far(self, work, port=None, near=False):
        """Runs a function of ours as a process at the far end, or at the client's."""
        pid = os.fork()
        if pid == 0:
            try:
                start()
                call("setns", self.near if near else self.far, CLONE_NEWNET)
                work()
            except BaseException as error:
                print(f"far: {error!r}", file=sys.stderr, flush=True)
            os._exit(1)
        if port:
            self.wait_for(port, None, "a process of ours", near=near)
        return pid

    def wait_for(self, port, child, what, seconds=10, near=False):
        end = time.monotonic() + seconds
        with self.at(near):
            while time.monotonic() < end:
                if port in listening():
                    return
                if child and child.poll() not in (None, 0):
                    break
                time.sleep(0.005)
        log = pathlib.Path(what).read_text(errors="replace")[-400:] if what.startswith("/") else ""
        raise RuntimeError(f"{what} does not listen on {port}: {log}")

    # The path.

    def path(self, up, down, rule, seed):
        """Starts the relay anew, with fresh counters."""
        self.end_path()
        self.relay = os.fork()
        if self.relay == 0:
            try:
                die_with_parent()
                relay.run(self.near_tun, self.far_tun, up, down, rule, seed)
            except BaseException as error:
                print(f"relay: {error!r}", file=sys.stderr, flush=True)
            os._exit(1)

    def end_path(self):
        if self.relay:
            os.kill(self.relay, signal.SIGKILL)
            os.waitpid(self.relay, 0)
            self.relay = None
        for device in (self.near_tun, self.far_tun):
            with contextlib.suppress(BlockingIOError):
                while os.read(device, 65600):
                    pass

    # The client.

    def probe(self, binary, arguments, around=None, seconds=20, stdout=subprocess.PIPE):
        """One `probe --json`; `around(pid)` may do something to the process while it runs."""
        limit = [] if "--max-time" in arguments else ["--max-time", str(seconds - 3)]
        command = [binary, "probe", "--json", *limit, *arguments]
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            cwd=self.dir,
            preexec_fn=begin if around else start,
        )
        try:
            if around:
                around(child)
            out, complaint = child.communicate(timeout=seconds)
        finally:
            child.kill()
        if child.returncode is not None and child.returncode < 0:
            raise RuntimeError(f"probe ended by signal {-child.returncode}")
        try:
            return json.loads(out)["results"]
        except (json.JSONDecodeError, KeyError):
            raise RuntimeError(
                f"no JSON (exit {child.returncode}): {complaint.decode(errors='replace')[-300:]}"
            )


def begin():
    """The command prefix of a client in trouble: it has no more right to a core than others."""
    die_with_parent()


def start():
    """The command prefix of each other program of a case: it should not feel the machine's other load."""
    die_with_parent()
    for urge in (
        lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1)),
        lambda: os.setpriority(os.PRIO_PROCESS, 0, NICE),
    ):
        with contextlib.suppress(OSError):
            return urge()


def listening():
    """The TCP ports that have a listener, and the UDP ports that are bound, in this namespace."""
    ports = set()
    for table, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        with contextlib.suppress(OSError):
            for line in open(f"/proc/thread-self/net/{table}").readlines()[1:]:
                words = line.split()
                if words[3] == state:
                    ports.add(int(words[1].rsplit(":", 1)[1], 16))
    return ports


def alone(work, seconds):
    """Starts `work(pipe)` as the first process of a process namespace; gives its handle and pipe."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(read)
            die_with_parent()
            call("unshare", CLONE_NEWPID | CLONE_NEWNS)
            inner = os.fork()
            if inner == 0:
                die_with_parent()
                signal.alarm(int(seconds))
                signal.signal(signal.SIGALRM, lambda *_: os._exit(1))
                answer = work()
                with os.fdopen(write, "w") as pipe:
                    pipe.write(json.dumps(answer))
                os._exit(0)
            os.close(write)
            os.waitpid(inner, 0)
            code = 0
        except BaseException as error:
            traceback.print_exc()
        os._exit(code)
    os.close(write)
    return pid, read
