"""Packets as tshark decodes them, split into connections whose boundaries can be compared with a client's own
phases.

tshark identifies the packets, and decrypts them with the key log that both clients write (`SSLKEYLOGFILE`).
Only the beginning of a response is identified by its time: the server first thinks for a known time, so that
earlier packets (tickets, SETTINGS) cannot be mistaken for it.
"""

import dataclasses
import signal
import subprocess
import time

from harness import tools

FIELDS = ["frame.time_epoch", "tcp.srcport", "tcp.dstport", "udp.srcport", "udp.dstport", "tcp.flags", "tcp.len",
          "tls.handshake.type", "tls.record.content_type", "http.request.method", "http2.type", "quic.stream.stream_id"]
FIN, SYN, RST = 0x01, 0x02, 0x04
FINISHED, ALERT, HEADERS, GOAWAY = "20", "21", "1", "7"


@dataclasses.dataclass
class Packet:
    at: float
    client_port: int
    from_client: bool
    over_tcp: bool
    flags: int
    length: int
    handshakes: list
    records: list
    asks: bool
    frames: list
    streams: list


class Capture:
    """Runs dumpcap on one interface, from the moment when it listens until the end of the `with`."""

    def __init__(self, interface, path):
        self.path = str(path)
        self.command = ["dumpcap", "-q", "-B", "64", "-i", interface, "-w", self.path]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stderr=subprocess.PIPE, text=True)
        seen = []
        for line in self.process.stderr:
            seen.append(line)
            if line.startswith("File:"):
                return self
        tools.fail("dumpcap does not capture: " + "".join(seen).strip())

    def __exit__(self, *_):
        time.sleep(0.3)  # what is still in flight, and what the kernel still holds
        self.process.send_signal(signal.SIGINT)
        told = self.process.communicate(timeout=20)[1]
        dropped = [line for line in told.splitlines() if "dropped" in line and " 0 packets dropped" not in line and "/0 (" not in line]
        if dropped:
            tools.say("dumpcap: " + "; ".join(dropped))


def read(path, keys, ports):
    """The packets of a file, in order, by the client's port; `ports` are those of the server."""
    command = ["tshark", "-n", "-r", str(path), "-o", f"tls.keylog_file:{keys}", "-T", "fields"]
    for port in ports:
        command += ["-d", f"tcp.port=={port},{'http' if port == ports[0] else 'tls'}"]
    for field in FIELDS:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        tools.fail(f"tshark failed: {done.stderr.strip()}")
    connections = {}
    for line in done.stdout.splitlines():
        packet = parse(line.split("\t"), ports)
        if packet:
            connections.setdefault(packet.client_port, []).append(packet)
    return connections


def parse(fields, ports):
    at, tcp_from, tcp_to, udp_from, udp_to, flags, length, handshakes, records, method, frames, streams = fields
    source, destination = (tcp_from, tcp_to) if tcp_from else (udp_from, udp_to)
    if not source or not {int(source), int(destination)} & set(ports):
        return None
    from_client = int(destination) in ports
    return Packet(at=float(at), client_port=int(source if from_client else destination), from_client=from_client,
                  over_tcp=bool(tcp_from), flags=int(flags or "0", 16), length=int(length or 0),
                  handshakes=handshakes.split(","), records=records.split(","), asks=bool(method),
                  frames=frames.split(","), streams=streams.split(",") if streams else [])


def phases(packets, think):
    """The phases of one connection in ms, from packet to packet; None for those that were not found."""
    ours = [p for p in packets if p.from_client]
    theirs = [p for p in packets if not p.from_client]
    tcp = packets[0].over_tcp
    opened = first(theirs, lambda p: p.flags & SYN) if tcp else None
    began = first(ours, lambda p: p.flags & SYN) if tcp else packets[0]
    proven = [p for p in packets if FINISHED in p.handshakes]
    asked = last(ours, lambda p: p.asks or HEADERS in p.frames or "0" in p.streams)
    if not asked or not began:
        return {}
    answers = [p for p in theirs if p.at > asked.at + 0.8 * think and (p.length if tcp else "0" in p.streams)]
    if not answers:
        return {}
    closed = first(ours, lambda p: p.at > answers[0].at and (p.flags & (FIN | RST) or ALERT in p.records or GOAWAY in p.frames))
    answers = [p for p in answers if not closed or p.at < closed.at] or answers[:1]
    found = {"first_byte": span(asked, answers[0]), "body": span(answers[0], answers[-1])}
    if tcp:
        found["tcp"] = span(began, opened)
    if proven and tcp:
        found["tls"] = span(opened, proven[-1])
    elif proven:
        found["quic"] = span(began, proven[-1])
        found["quic_wait"] = waits([p for p in packets if p.at <= proven[-1].at])
    return found


def waits(packets):
    """The time before each packet of the server, without our computing and the time before our first packet."""
    pairs = zip(packets, packets[1:])
    return sum(span(before, packet) for before, packet in pairs if not packet.from_client)


def first(packets, wanted):
    return next((p for p in packets if wanted(p)), None)


def last(packets, wanted):
    return first(reversed(packets), wanted)


def span(begin, end):
    return (end.at - begin.at) * 1e3 if begin and end else None
