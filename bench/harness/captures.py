"""Makes large captures: HTTP/1 exchanges of many connections side by side, as a file of raw IPv4 packets in nanoseconds.

Connections come in groups of WIDE that are at the same step at nearly the same time. The packets of a step are made once;
for each group only their times and the address of the client are written over.
"""

import array
import random
import struct

MSS = 1448
WIDE = 256
SYN, ACK, FIN = 2, 16, 1
RTT = 40_000_000
SYN_TIMEOUT = 1_000_000_000
RECORD, IP, TCP = 16, 20, 32
START = 1_700_000_000_000_000_000


def exchange(body, lost):
    """One exchange as its client's host sees it: nanoseconds, from the client, flags, sequence, acknowledgment, payload."""
    request = b"GET /file HTTP/1.1\r\nhost: server.example\r\n\r\n"
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % body + bytes(body)
    at, steps = 0, [(0, True, SYN, 0, 0, b"")]
    if lost:
        at = SYN_TIMEOUT
        steps.append((at, True, SYN, 0, 0, b""))
    at += RTT
    steps += [(at, False, SYN | ACK, 0, 1, b""), (at + 10_000, True, ACK, 1, 1, b""), (at + 400_000, True, ACK, 1, 1, request)]
    sent = 1 + len(request)
    at += RTT + 5_000_000
    window, left = 10, 10
    for place in range(0, len(answer), MSS):
        if left == 0:
            window = min(2 * window, 400)
            at, left = at + RTT, window
        left -= 1
        piece = answer[place:place + MSS]
        at += WIDE * 100
        steps.append((at, False, ACK, 1 + place, sent, piece))
        if (place // MSS) % 2 or place + MSS >= len(answer):
            steps.append((at + WIDE * 50, True, ACK, sent, 1 + place + len(piece), b""))
    end, at = 1 + len(answer), at + 100_000
    return steps + [(at, True, FIN | ACK, sent, end, b""), (at + RTT, False, FIN | ACK, end, sent + 1, b""),
                    (at + RTT + 10_000, True, ACK, sent + 1, end + 1, b"")]


class Block:
    """One step of all connections of a group."""

    def __init__(self, step):
        self.at, self.from_client, flags, sequence, acknowledgment, payload = step
        client, server = b"\x0a\0\0\x01", b"\xc0\0\x02\x01"
        ends = client + server if self.from_client else server + client
        length = IP + TCP + len(payload)
        self.stride = RECORD + length
        self.bytes = bytearray()
        for number in range(WIDE):
            port = 20_000 + number
            ports = (port, 80) if self.from_client else (80, port)
            first = number * 65_537
            sequence_of, acknowledgment_of = (first, first + 7_000_000)[::1 if self.from_client else -1]
            tcp = struct.pack(">HHIIBBHHHBBBBII", *ports, (sequence_of + sequence) & 0xffffffff,
                              (acknowledgment_of + acknowledgment) & 0xffffffff if flags & ACK else 0,
                              TCP // 4 << 4, flags, 65535, 0, 0, 1, 1, 8, 10, number, 0)
            ip = struct.pack(">BBHHHBBH", 0x45, 0, length, 0, 0x4000, 64 if self.from_client else 55, 6, 0) + ends
            self.bytes += struct.pack("<IIII", 0, 0, length, length) + ip + tcp + payload
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


def make(path, connections, body, seed, lost_share=0.03):
    """Writes a capture of `connections` connections (a multiple of WIDE), each with an answer of `body` bytes.

    Returns its packets, and how many connections lost their first SYN.
    """
    chance = random.Random(seed)
    templates = [[Block(step) for step in exchange(body, lost)] for lost in (False, True)]
    began, packets, late = START, 0, 0
    with open(path, "wb", buffering=1 << 20) as file:
        file.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 262_144, 101))
        for group in range(connections // WIDE):
            lost = chance.random() < lost_share
            late += lost * WIDE
            for block in templates[lost]:
                file.write(block.of(group, began))
                packets += WIDE
            began += templates[lost][-1].at + 10_000_000
    return packets, late
