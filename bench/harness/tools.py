"""Finds the programs for a benchmark, and says how to get missing ones. Running them is left to the benchmark."""

import argparse
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
    """The directory of cargo's output."""
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def build(*arguments):
    """Builds in release mode, and shows the output only if that fails."""
    need("cargo")
    say(f"building: cargo build --release {' '.join(arguments)}")
    done = subprocess.run(["cargo", "build", "--release", "--quiet", *arguments], cwd=ROOT)
    if done.returncode:
        fail("the build failed")


def roundtrip(*features):
    build("-p", "roundtrip", *(["--features", ",".join(features)] if features else []))
    return str(target() / "release" / "roundtrip")


def named(text):
    """NAME=FILE of the command line: another build of roundtrip."""
    name, equals, file = text.partition("=")
    if not equals or not pathlib.Path(file).is_file():
        raise argparse.ArgumentTypeError("NAME=FILE, a build of roundtrip")
    return name, file


def version(*command):
    """The first line with a digit in a tool's description of itself."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{command[0]}: {error}"
    lines = [line for line in (done.stdout + done.stderr).splitlines() if any(map(str.isdigit, line))]
    return lines[0].strip() if lines else command[0]
