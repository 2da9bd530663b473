"""The facts of a finished game: the saved files, the output and counters of both ends, and the path's capture."""

import hashlib
import json
import subprocess


class Verdict:
    """The facts of one game, in the words of the checks of `cases`."""

    def __init__(self, game, reader, exit_code, output):
        self.game, self.exit_code, self.output = game, exit_code, read(game.place / "client.err") + output
        done = subprocess.run([reader, game.capture, "443"], capture_output=True, text=True, timeout=120)
        self.datagrams = [json.loads(line) for line in done.stdout.splitlines()]
        self.said = self.read_said()
        self.stats = read_json(game.place / "stats.json")

    def is_ours(self, role):
        return getattr(self.game, role).name == "roundtrip"

    def read_said(self):
        """What the client printed about its connections, if it does that."""
        for line in read(self.game.place / "client.out").splitlines():
            if line.startswith('{"connections"'):
                return json.loads(line)["connections"]
        return []

    def sent(self, by_client):
        """What one end sent, lost or not."""
        end = "client" if by_client else "server"
        return [each for each in self.datagrams if each["interface"] == end and each["client"] == by_client]

    def packets(self, kind, by_client):
        for each in self.sent(by_client):
            yield from (packet for packet in each["packets"] if packet["kind"] == kind)

    @property
    def hellos(self):
        """The last hello of each connection's server: there may be a HelloRetryRequest before it."""
        by_connection = {}
        for packet in self.packets("initial", False):
            if packet.get("hello"):
                by_connection[packet["source"]] = packet["hello"]
        return list(by_connection.values())

    @property
    def connections(self):
        """How many connections a server took: each has an id that the server chose."""
        return len({packet["source"] for packet in self.packets("handshake", False)})

    def marked(self, word):
        return sum(any(word in comment for comment in each["comments"]) for each in self.datagrams)

    def sources(self, end):
        """The client's addresses, as they are at one end, in the order of their appearance."""
        found = (each["from"] for each in self.datagrams if each["interface"] == end and each["client"])
        return [tuple(each.rsplit(":", 1)) for each in dict.fromkeys(found)]

    def first_source(self):
        return self.sent(True)[0]["from"]

    def last_destination(self):
        return self.sent(False)[-1]["to"]

    @property
    def most_amplified(self):
        """The largest ratio of what the server sent to what had come, before the client proved its address."""
        received, sent, most = 0, 0, 0.0
        for each in (each for each in self.datagrams if each["interface"] == "server"):
            if each["client"]:
                received += each["length"]
                if any(packet["kind"] == "handshake" for packet in each["packets"]):
                    break
            else:
                sent += each["length"]
                most = max(most, sent / max(received, 1))
        return most

    @property
    def kbit_per_second(self):
        """The documents' bytes over the time between the first and the last datagram."""
        times = [each["at"] for each in self.datagrams]
        return 8e6 * sum(self.game.case.sizes) / max(times[-1] - times[0], 1)

    def wrong(self):
        """What is wrong, or None."""
        if self.exit_code == 124:
            return f"not over after {self.game.case.seconds} s"
        if self.exit_code != 0:
            return f"the client ended with {self.exit_code}: {self.last_words()}"
        for size in self.game.case.sizes:
            try:
                got = (self.game.downloads / str(size)).read_bytes()
            except OSError:
                return f"/bytes/{size} was not saved"
            if hashlib.sha256(got).digest() != self.game.hashes[size]:
                return f"/bytes/{size} came with {len(got)} bytes, or others"
        if not self.datagrams:
            return "the capture shows nothing"
        if self.connections != self.game.case.connections:
            return f"{self.connections} connections, not {self.game.case.connections}"
        return self.game.case.check(self)

    def last_words(self):
        lines = [line for line in self.output.strip().splitlines() if not line.startswith("roundtrip: the relay")]
        return " / ".join(lines[-2:])[-300:]


def read(file):
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""


def read_json(file):
    try:
        return json.loads(read(file))
    except ValueError:
        return None
