"""Measured processes: the processor on which they run, and what they use with all their threads and children."""

import os
import pathlib
import signal
import subprocess
import time

TICK = os.sysconf("SC_CLK_TCK")


def start(command, cpu, log, environment=None):
    """Starts a process on a single processor, in a new process group, with its output going into a file."""
    words = list(map(str, command))
    with open(log, "ab") as file:
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True,
                                env=os.environ | (environment or {}), preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))


def end(process):
    """Asks the process to end, waits, then kills it together with its children."""
    for sign, patience in [(signal.SIGTERM, 3), (signal.SIGKILL, 3)]:
        try:
            os.killpg(process.pid, sign)
            process.wait(patience)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue
        break


def family(pid):
    """The process and all its descendants."""
    found = [pid]
    for each in found:
        for task in pathlib.Path(f"/proc/{each}/task").glob("*"):
            try:
                found += map(int, (task / "children").read_text().split())
            except OSError:
                continue
    return found


def cpu_seconds(pid):
    """The processor time of all threads of the family: to the nanosecond if the scheduler reports it, otherwise in ticks."""
    total = 0.0
    for each in family(pid):
        for task in pathlib.Path(f"/proc/{each}/task").glob("*"):
            try:
                total += int((task / "schedstat").read_text().split()[0]) / 1e9
            except (OSError, ValueError, IndexError):
                total += sum(ticks(task)) / TICK
    return total


def wakeups(pid):
    """How often threads of the family were put on a processor, as the scheduler counts it."""
    total = 0
    for each in family(pid):
        for task in pathlib.Path(f"/proc/{each}/task").glob("*"):
            try:
                total += int((task / "schedstat").read_text().split()[2])
            except (OSError, ValueError, IndexError):
                continue
    return total


def kernel_share(pid, before=(0, 0)):
    """The share of the time that was spent in the kernel, counted in ticks, so only for longer times. Returns
    (share or None, ticks).
    """
    user, system = map(sum, zip(*(ticks(pathlib.Path(f"/proc/{each}")) for each in family(pid))))
    spent = user - before[0] + system - before[1]
    return ((system - before[1]) / spent if spent >= 20 else None), (user, system)


def ticks(place):
    try:
        fields = (place / "stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]), int(fields[12])
    except (OSError, IndexError):
        return 0, 0


def resident_mib(pid):
    pages = 0
    for each in family(pid):
        try:
            pages += int(pathlib.Path(f"/proc/{each}/statm").read_text().split()[1])
        except OSError:
            continue
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def await_port(port, process, seconds=20):
    """Returns True once the port is open; False if the process ended or took too long."""
    wanted = f"{port:04X}"
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        for table in ["tcp", "tcp6"]:
            for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and fields[1].rsplit(":", 1)[1] == wanted:
                    return True
        time.sleep(0.02)
    return False
