"""RDAP clients and a server of other projects: found on the machine, or built once into a cache."""

import os
import pathlib
import shutil
import subprocess
import sys

from harness import tools

SERVER, CLIENT = "icann-rdap-srv@0.0.30", "icann-rdap-cli@0.0.30"  # later versions need a newer compiler
OPENRDAP = "github.com/openrdap/rdap/cmd/rdap@latest"
QUARTER_HOUR = 900


class Peers:
    """Each is a path, or None if it is not available; then a message says so."""

    def __init__(self, places):
        self.places = [*map(pathlib.Path, places), cache()]
        self.data = self.get("rdap-srv-test-data", "icann-rdap-srv ", cargo(SERVER))
        # The server has no flags, so its version is that of the program that comes with it.
        self.server = self.data and str(pathlib.Path(self.data).with_name("rdap-srv"))
        if not self.server or not pathlib.Path(self.server).is_file():
            tools.fail(f"there is nobody to ask: cargo install {SERVER} --locked")
        self.icann = self.get("rdap", "icann-rdap-cli ", cargo(CLIENT), known_as="icann-rdap-cli")
        self.openrdap = self.get("openrdap", "OpenRDAP ", go()) or self.get("rdap", "OpenRDAP ", None)
        self.python = python(cache())

    def get(self, program, says, install, known_as=None):
        """Two clients are called `rdap`: the output of `--version` tells which one this is."""
        found = self.look(program, says)
        if found or install is None:
            return found
        install()
        found = self.look(program, says) or self.look("rdap", says)
        if not found:
            tools.say(f"*** {known_as or program} CANNOT BE HAD: it is left out of what follows ***")
        return found

    def look(self, program, says):
        for place in self.places:
            for path in [place / program, place / "bin" / program, place / "go" / program]:
                if path.is_file() and spoken(path).startswith(says):
                    return str(path)
        return None


def spoken(program):
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout + done.stderr).lstrip()


def cache():
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(home) / "roundtrip" / "bench"


def cargo(package):
    def install():
        tools.need("cargo")
        attempt(["cargo", "install", "--quiet", package, "--locked", "--root", str(cache())], {}, "some ten minutes")
    return install


def go():
    def install():
        if shutil.which("go") is None:
            return tools.say("go is missing; on Debian: apt install golang")
        place = cache() / "go"
        attempt(["go", "install", OPENRDAP], {"GOBIN": str(place)}, "a minute")
    return install


def python(place):
    """A Python that has `requests`: the current one, or one in a separate environment."""
    venv = place / "python" / "bin" / "python3"
    for candidate in [sys.executable, venv, "/usr/bin/python3"]:
        if knows(candidate):
            return str(candidate)
    attempt([sys.executable, "-m", "venv", str(place / "python")], {}, "seconds")
    attempt([str(venv), "-m", "pip", "install", "--quiet", "requests"], {}, "seconds")
    if knows(venv):
        return str(venv)
    return tools.say("*** Python's requests CANNOT BE HAD: it is left out of what follows ***")


def knows(candidate):
    try:
        return subprocess.run([candidate, "-c", "import requests"], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def attempt(command, environment, takes):
    """Installs a program, or says why not; afterwards the program is looked for."""
    tools.say(f"once, into {cache()}, {takes}: {' '.join(command)}")
    cache().mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(command, env=os.environ | environment, stdout=sys.stderr, timeout=4 * QUARTER_HOUR)
    except (OSError, subprocess.TimeoutExpired) as error:
        return tools.say(f"that failed: {error}")
    if done.returncode:
        tools.say(f"that failed ({done.returncode})")
