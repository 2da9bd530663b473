"""Makes large captures: HTTP/1 exchanges of many connections side by side, as a file of raw IPv4 packets in nanoseconds.

Connections come in groups of WIDE that are at the same step at nearly the same time. The packets of a step are made once;
for each group only their times and the address of the client are written over. With TLS, all connections are the same
session of OpenSSL. `HOSTILE` are captures that should exhaust their reader.
"""

import array
import random
import ssl
import struct

from harness import servers

MSS = 1448
WIDE = 256
SYN, ACK, FIN = 2, 16, 1
RTT = 40_000_000
SYN_TIMEOUT = 1_000_000_000
THINK = 5_000_000
RECORD, IP, TCP = 16, 20, 32
START = 1_700_000_000_000_000_000
HEADER = struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 262_144, 101)
REQUEST = b"GET /file HTTP/1.1\r\nhost: server.example\r\n\r\n"


def clear(body):
    """What both sides say in turn, the client first."""
    return [REQUEST, b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % body + bytes(body)]


def sealed(body, place, keys):
    """The same with TLS 1.3 and AES-GCM; its secrets are written to the file `keys`."""
    servers.certify(place)
    sides = []
    for is_server in (False, True):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.set_alpn_protocols(["http/1.1"])
        if is_server:
            context.load_cert_chain(place / "chain.pem", place / "key.pem")
        else:
            context.load_verify_locations(place / "ca.pem")
            context.keylog_filename = str(keys)
        ways = ssl.MemoryBIO(), ssl.MemoryBIO()
        name = None if is_server else servers.NAME
        sides.append((context.wrap_bio(*ways, server_side=is_server, server_hostname=name), *ways))
    (client, to_client, from_client), (server, to_server, from_server) = sides
    said = []

    def turn(side, leaving, arriving, step):
        try:
            step(side)
        except ssl.SSLWantReadError:
            pass
        said.append(leaving.read())
        arriving.write(said[-1])

    request, answer = clear(body)
    turn(client, from_client, to_server, lambda side: side.do_handshake())
    turn(server, from_server, to_client, lambda side: side.do_handshake())
    turn(client, from_client, to_server, lambda side: (side.do_handshake(), side.write(request)))
    turn(server, from_server, to_client, lambda side: (side.do_handshake(), side.write(answer)))
    return said


def exchange(talk, lost):
    """A connection as its client's host sees it: nanoseconds, from the client, flags, sequence, acknowledgment, payload."""
    at, steps = 0, [(0, True, SYN, 0, 0, b"")]
    if lost:
        at = SYN_TIMEOUT
        steps.append((at, True, SYN, 0, 0, b""))
    at += RTT
    steps += [(at, False, SYN | ACK, 0, 1, b""), (at + 10_000, True, ACK, 1, 1, b"")]
    at += 400_000
    ends = {True: 1, False: 1}
    window, left = 10, 10
    for number, said in enumerate(talk):
        from_client = number % 2 == 0
        at += THINK if number else 0
        for place in range(0, len(said), MSS):
            if left == 0:
                window = min(2 * window, 400)
                at, left = at + RTT, window
            left -= not from_client
            piece = said[place:place + MSS]
            at += WIDE * 100
            steps.append((at, from_client, ACK, ends[from_client], ends[not from_client], piece))
            ends[from_client] += len(piece)
            if not from_client and ((place // MSS) % 2 or place + MSS >= len(said)):
                steps.append((at + WIDE * 50, True, ACK, ends[True], ends[False], b""))
        at += RTT if from_client else 0
    at += 100_000
    return steps + [(at, True, FIN | ACK, ends[True], ends[False], b""),
                    (at + RTT, False, FIN | ACK, ends[False], ends[True] + 1, b""),
                    (at + RTT + 10_000, True, ACK, ends[True] + 1, ends[False] + 1, b"")]


def one(number, step):
    """A packet of the connection with this number in its group."""
    _, from_client, flags, sequence, acknowledgment, payload = step
    client, server = b"\x0a\0\0\x01", b"\xc0\0\x02\x01"
    ends, ports = client + server, (20_000 + number, 80)
    # Where the streams of both sides begin.
    begins = (number * 65_537, number * 65_537 + 7_000_000)
    if not from_client:
        ends, ports, begins = server + client, ports[::-1], begins[::-1]
    numbers = (begins[0] + sequence) & 0xffffffff, (begins[1] + acknowledgment) & 0xffffffff if flags & ACK else 0
    length = IP + TCP + len(payload)
    tcp = struct.pack(">HHIIBBHHHBBBBII", *ports, *numbers, TCP // 4 << 4, flags, 65535, 0, 0, 1, 1, 8, 10, number, 0)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, length, 0, 0x4000, 64 if from_client else 55, 6, 0) + ends
    return ip + tcp + payload


def record(at, packet, length=None):
    """`length` is that on the wire, if the capture cut it."""
    return struct.pack("<IIII", at // 1_000_000_000, at % 1_000_000_000, len(packet), length or len(packet)) + packet


class Block:
    """One step of all connections of a group."""

    def __init__(self, step):
        self.at, self.from_client = step[:2]
        self.bytes = bytearray(b"".join(record(0, one(number, step)) for number in range(WIDE)))
        self.stride = len(self.bytes) // WIDE
        self.address = RECORD + 12 + (0 if self.from_client else 4)

    def of(self, group, began):
        times = [began + self.at + number * 100 for number in range(WIDE)]
        for place, values in ((0, (t // 1_000_000_000 for t in times)), (4, (t % 1_000_000_000 for t in times))):
            packed = array.array("I", values).tobytes()
            for n in range(4):
                self.bytes[place + n::self.stride] = packed[n::4]
        for n, byte in enumerate((group >> 8 & 0xff, group & 0xff)):
            self.bytes[self.address + 1 + n::self.stride] = bytes([byte]) * WIDE
        return self.bytes


def make(path, connections, talk, seed, lost_share=0.03):
    """Writes a capture of `connections` connections (a multiple of WIDE), each with this talk.

    Returns its packets, and how many connections lost their first SYN.
    """
    chance = random.Random(seed)
    templates = [[Block(step) for step in exchange(talk, lost)] for lost in (False, True)]
    began, packets, late = START, 0, 0
    with open(path, "wb", buffering=1 << 20) as file:
        file.write(HEADER)
        for group in range(connections // WIDE):
            lost = chance.random() < lost_share
            late += lost * WIDE
            for block in templates[lost]:
                file.write(block.of(group, began))
                packets += WIDE
            began += templates[lost][-1].at + 10_000_000
    return packets, late


def flood(scale):
    """SYNs of as many clients as there are, which nobody answers."""
    block = Block((0, True, SYN, 0, 0, b""))
    for group in range(int(20_000 * scale)):
        yield WIDE, block.of(group % 65_536, START + group * 1_000_000)


def headers(scale):
    """Large answers of which the capture kept the headers; of half of the connections, it has only the server's side."""
    for number in range(max(2, int(3_500 * scale))):
        for step in exchange(clear(2_000_000), False):
            if step[1] and number % 2:
                continue
            packet = one(number, step)
            yield 1, record(START + number * 60_000_000_000 + step[0], packet[:IP + TCP], len(packet))


def requests(scale):
    """100 000 requests, one after the other on a single connection."""
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
    talk = [REQUEST, answer] * int(100_000 * scale)
    for step in exchange(talk, False):
        yield 1, record(START + step[0], one(0, step))


def overlapping(scale):
    """HTTP/2 in the clear: 5 000 requests are open at the same time, while 20 000 segments of answers arrive."""
    def frame(kind, flags, stream, content):
        return struct.pack(">I", len(content))[1:] + struct.pack(">BBI", kind, flags, stream) + content
    count = int(5_000 * scale)
    heads = [frame(1, 5, 2 * n + 1, b"\x82\x86\x84\x41\x01x") for n in range(count)]
    begun = [frame(1, 4, 2 * n + 1, b"\x88") for n in range(count)]
    pieces = [frame(0, 0, 2 * (n % count) + 1, bytes(1000)) for n in range(int(20_000 * scale))]
    ends = [frame(0, 1, 2 * n + 1, b"") for n in range(count)]
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"")
    for step in exchange([preface + b"".join(heads), frame(4, 0, 0, b"") + b"".join(begun + pieces + ends)], False):
        yield 1, record(START + step[0], one(0, step))


def unfinished(scale):
    """Heads of requests that do not end, 60 KiB each."""
    head = b"GET / HTTP/1.1\r\nhost: server.example\r\nx: " + b"x" * 60_000
    steps = [Block(step) for step in exchange([head], False)[:-3]]
    for group in range(max(1, int(40 * scale))):
        for step in steps:
            yield WIDE, step.of(group, START + group * 10_000_000)


def secrets(scale):
    """A pcapng with nothing but secrets, of two million connections."""
    yield 0, pcapng(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + pcapng(1, struct.pack("<HHI", 101, 0, 0))
    packet = one(0, (0, True, SYN, 0, 0, b""))
    yield 1, pcapng(6, struct.pack("<IIIII", 0, 0, 0, len(packet), len(packet)) + packet)
    for number in range(int(20_000 * scale)):
        lines = "".join(f"{side}_TRAFFIC_SECRET_0 {number * 100 + n:064x} {n:064x}\n" for n in range(100) for side in ("CLIENT", "SERVER"))
        yield 0, pcapng(10, struct.pack("<II", 0x544C534B, len(lines)) + lines.encode())


def pcapng(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


HOSTILE = {"a flood of SYNs": flood, "headers only": headers, "100 000 requests on a connection": requests,
           "5 000 requests at the same time": overlapping, "heads that do not end": unfinished, "secrets only": secrets}


def make_hostile(path, name, scale):
    """Writes one of them; returns its packets."""
    packets = 0
    with open(path, "wb", buffering=1 << 20) as file:
        if name != "secrets only":
            file.write(HEADER)
        for count, data in HOSTILE[name](scale):
            packets += count
            file.write(data)
    return packets
