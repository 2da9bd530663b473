"""`roundtrip origin` as a child process: starts it, learns where it listens, and ends it."""

import json
import subprocess

from harness import tools


class Origin:
    """A test server on free loopback ports, with the certificate of its authority in `ca`."""

    def __init__(self, roundtrip, ca, *knobs):
        self.ca = str(ca)
        self.command = [roundtrip, "origin", "--json", "--ca-out", self.ca, *knobs]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            tools.fail(f"the origin did not start: {' '.join(self.command)}")
        self.addresses = json.loads(line)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=10)
