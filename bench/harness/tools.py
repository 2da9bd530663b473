"""Finds what a benchmark runs, and says how to get what is missing. Leaves running it to the benchmark."""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = {"curl": "curl", "httping": "httping", "tshark": "tshark", "dumpcap": "wireshark-common",
            "unshare": "util-linux", "nginx": "nginx-light", "ip": "iproute2", "ethtool": "ethtool", "cargo": "a Rust toolchain, https://rustup.rs"}


def fail(message):
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {message}")


def say(message):
    print(message, file=sys.stderr, flush=True)


def need(*names):
    for name in names:
        if shutil.which(name) is None:
            fail(f"{name} is missing; on Debian: apt install {PACKAGES.get(name, name)}")


def target():
    """Where cargo puts what it builds."""
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def build(*arguments):
    """Builds in release mode and says what came of it only when it fails."""
    need("cargo")
    say(f"building: cargo build --release {' '.join(arguments)}")
    done = subprocess.run(["cargo", "build", "--release", "--quiet", *arguments], cwd=ROOT)
    if done.returncode:
        fail("the build failed")


def roundtrip():
    build("-p", "roundtrip")
    return str(target() / "release" / "roundtrip")


def version(*command):
    """The first line of what a tool says about itself that has a digit in it."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{command[0]}: {error}"
    lines = [line for line in (done.stdout + done.stderr).splitlines() if any(map(str.isdigit, line))]
    return lines[0].strip() if lines else command[0]
