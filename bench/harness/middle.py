"""Makes the recording of a place between client and server from one of both ends (pcapng of `lab run faults --record`).

A packet that both ends saw passes the middle half-way between the two times. One that was lost passes it half of the
shortest way after it left: it is lost behind that place. One that a middlebox changed passes it as its sender sent it.
Hop limits are as they left, comments are left out.
"""

import collections
import struct

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6


def between(source, target):
    """Writes the recording of the middle; False if the ends have too little in common."""
    link, packets = read(source.read_bytes())
    ends = ([p for p in packets if p[0] == 0], [p for p in packets if p[0] == 1])
    waiting = collections.defaultdict(collections.deque)
    for _, at, data in ends[1]:
        waiting[same(data)].append((at, data))
    seen, alone, ways = [], [], {}
    for _, at, data in ends[0]:
        if not waiting[same(data)]:
            alone.append((at, data))
            continue
        there, _ = waiting[same(data)].popleft()
        way = 0 if at <= there else 1
        ways[way] = min(ways.get(way, abs(there - at)), abs(there - at))
        seen.append(((at + there) // 2, data))
    alone += changed([one for many in waiting.values() for one in many], alone, seen)
    if len(seen) * 2 < len(ends[0]):
        return False
    half = min(ways.values(), default=0) // 2
    seen += [(at + half, data) for at, data in alone]
    write(target, link, sorted(seen, key=lambda one: one[0]))
    return True


def changed(there, alone, seen):
    """Joins packets of one end with those of the other that a middlebox made of them, and returns the others."""
    left = []
    for at, data in there:
        twin = next((one for one in alone if segment(data) and segment(one[1]) == segment(data)), None)
        if twin is None:
            left.append((at, data))
            continue
        alone.remove(twin)
        seen.append(((at + twin[0]) // 2, min((at, data), twin)[1]))
    return left


def segment(data):
    """The parts of a TCP segment that a middlebox leaves when it removes options or data: ports, numbers and flags."""
    if data[:1] and data[0] >> 4 == 4 and data[9:10] == b"\x06":
        tcp = data[(data[0] & 15) * 4:]
        return tcp[:12] + tcp[13:14]
    return None


def same(data):
    """The parts that do not change on the way: everything except hop limit and checksum of the IP header."""
    if data[:1] and data[0] >> 4 == 4:
        return data[:8] + data[9:10] + data[12:]
    return data[:7] + data[8:]


def read(content):
    link, packets, at, units = 0, [], 0, {}
    while at + 12 <= len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if length < 12 or at + length > len(content):
            break
        if kind == INTERFACE:
            link = struct.unpack_from("<H", content, at + 8)[0]
            units[len(units)] = resolution(content[at + 16:at + length - 4])
        elif kind == PACKET:
            interface, high, low, kept, _ = struct.unpack_from("<IIIII", content, at + 8)
            data = content[at + 28:at + 28 + kept]
            packets.append((interface, (high << 32 | low) * units.get(interface, 1000), data))
        at += length
    return link, packets


def resolution(options):
    """Nanoseconds in a unit of time."""
    at = 0
    while at + 4 <= len(options):
        code, length = struct.unpack_from("<HH", options, at)
        if code == 9:
            return 10 ** (9 - options[at + 4])
        if code == 0:
            break
        at += 4 + (length + 3) // 4 * 4
    return 1000


def block(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def write(target, link, packets):
    out = [block(SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
           block(INTERFACE, struct.pack("<HHIHHB3xHH", link, 0, 0, 9, 1, 9, 0, 0))]
    for at, data in packets:
        head = struct.pack("<IIIII", 0, at >> 32, at & 0xffffffff, len(data), len(data))
        out.append(block(PACKET, head + data))
    target.write_bytes(b"".join(out))
