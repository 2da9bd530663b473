"""RESULTS.md: one section for each benchmark, written by the benchmark itself."""

import datetime
import os
import pathlib
import platform
import re
import subprocess

from harness import tools

RESULTS = tools.ROOT / "bench" / "RESULTS.md"
HEAD = """# Results

The program that a section names writes it (`bench/NAME --record`), with machine, versions and commands.
Ratios come from interleaved runs of the same invocation; nothing here was copied by hand.
"""


def machine():
    """Describes the machine in one line."""
    model, memory = "unknown processor", "?"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = " ".join(line.split(":", 1)[1].split())
            break
    found = re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text())
    if found:
        memory = f"{int(found[1]) / 2**20:.1f} GiB"
    load = os.getloadavg()[0]
    return (f"{os.cpu_count()} cores of {model}, {memory}, {platform.system()} {platform.release()}; "
            f"load average at the end {load:.1f}")


def revision():
    """The commit that was measured, marked when files differ from it."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=tools.ROOT, capture_output=True, text=True).stdout.strip()
    changed = git("status", "--porcelain", "--", "crates", "Cargo.lock")
    return (git("rev-parse", "--short", "HEAD") or "no commit") + (" and changes" if changed else "")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join("---" if i == 0 else "---:" for i in range(len(head))) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def section(name, title, versions, body, command):
    today = datetime.date.today().isoformat()
    return "\n".join([
        f"<!-- begin {name} -->", f"## {title}", "",
        f"`bench/{command or name}`, {today}, commit {revision()}. {machine()}.  ",
        "Versions: " + "; ".join(versions) + ".", "", body.strip(), f"<!-- end {name} -->"])


def publish(name, title, versions, body, record, command=None):
    """Prints a section, and writes it to its place in RESULTS.md if `record` is set. `command` is what a person types, if it
    is not the name.
    """
    text = section(name, title, versions, body, command)
    print(text)
    if not record:
        return
    page = RESULTS.read_text() if RESULTS.exists() else HEAD
    pattern = re.compile(rf"<!-- begin {name} -->.*?<!-- end {name} -->", re.DOTALL)
    page = pattern.sub(lambda _: text, page) if pattern.search(page) else page.rstrip() + "\n\n" + text
    RESULTS.write_text(page.rstrip() + "\n")
    tools.say(f"written to {RESULTS.relative_to(tools.ROOT)}")
