"""A path in Python: carries IP packets between two TUN devices with delay, rate, loss and holes.

Jitter is drawn in time, not for each packet: the delay wanders, and packets keep their order. A case changes single
packets by a rule, `rule(packet) -> None | DROP | ("late", s) | ("copy", n)`.
"""

import bisect
import heapq
import itertools
import os
import random
import select
import struct
import time

DROP = "drop"
UP, DOWN = 0, 1
SYN, FIN, RST, ACK = 2, 1, 4, 16
# A step of the wandering delay, in seconds; the delay itself is in ms.
STEP = 0.02


class Packet:
    """The fields of a packet that a rule may ask for."""

    __slots__ = ("way", "now", "size", "proto", "flags", "sport", "dport", "payload", "v6")

    def __init__(self, data, way, now):
        self.way, self.now, self.size = way, now, len(data)
        self.v6 = data[0] >> 4 == 6
        at = 40 if self.v6 else (data[0] & 15) * 4
        self.proto = data[6] if self.v6 else data[9]
        self.flags, self.sport, self.dport, self.payload = 0, 0, 0, b""
        if self.proto in (6, 17) and len(data) >= at + 8:
            self.sport = int.from_bytes(data[at : at + 2], "big")
            self.dport = int.from_bytes(data[at + 2 : at + 4], "big")
            if self.proto == 6:
                self.flags = data[at + 13]
                self.payload = data[at + (data[at + 12] >> 4) * 4 :]
            else:
                self.payload = data[at + 8 :]

    def is_tcp(self, flags_set=0, flags_clear=0):
        return (
            self.proto == 6 and self.flags & flags_set == flags_set and not self.flags & flags_clear
        )

    def has_data(self):
        return self.proto == 6 and bool(self.payload)


class Wander:
    """A delay that wanders: a value for each step of time, with straight lines between."""

    def __init__(self, shape, mean, seed):
        self.random, self.shape, self.mean, self.points = random.Random(seed), shape, mean, []

    def draw(self):
        r, mean = self.random, self.mean
        if self.shape == "uniform":
            return r.uniform(0, 2 * mean)
        if self.shape == "exponential":
            return r.expovariate(1 / mean)
        if self.shape == "wifi":
            # Mostly little, and many times the mean in one step of eight.
            return r.uniform(0, mean * 0.4) if r.random() < 0.875 else r.uniform(2, 11) * mean
        raise ValueError(self.shape)

    def at(self, age):
        place, rest = divmod(age / STEP, 1)
        place = int(place)
        while len(self.points) < place + 2:
            self.points.append(self.draw())
        return self.points[place] * (1 - rest) + self.points[place + 1] * rest


class Way:
    """One direction. Times in ms (the jitter's mean, the queue, too), rate in Mbit/s."""

    def __init__(
        self,
        delay=0.0,
        jitter=None,
        rate=None,
        queue=500,
        hole=None,
        outages=(),
        shift=(),
        others=None,
        grant=None,
        sleep=None,
        late=None,
        burst=None,
        police=None,
        tells=None,
        rates=(),
    ):
        self.delay, self.jitter, self.rate, self.queue = delay, jitter, rate, queue
        self.hole, self.outages, self.shift = hole, outages, shift
        # The share of the line that other clients' packets take; the time between two grants; (idle, beacon): after
        # `idle` without a packet, a packet waits for the next beacon; (share, ms): this share of packets is
        # overtaken; (share, packets): losses in a row; (Mbit/s, kB): a policer.
        self.others, self.grant, self.sleep = others, grant, sleep
        self.late, self.burst, self.police = late, burst, police
        # The MTU that a packet too large for the hole is answered with (RFC 1191).
        self.tells = tells
        # The rate from these ms on, in their order.
        self.rates = rates

    def start(self, seed):
        self.wander = Wander(*self.jitter, seed) if self.jitter else None
        self.free, self.last = 0.0, 0.0
        self.draw, self.phase = random.Random(seed), random.Random(seed).random()
        self.heard, self.other_at, self.losing = -1e9, 0.0, 0
        self.tokens, self.filled = (self.police[1] * 1e3 if self.police else 0.0), 0.0
        self.shift_at = [at for at, _ in self.shift]

    def due(self, packet, age):
        """The time at which the packet leaves at the other end, or None."""
        if self.hole and packet.size > self.hole:
            return None
        if any(since <= age * 1e3 < until for since, until in self.outages):
            return None
        if self._is_lost(packet, age):
            return None
        out = age
        if self.sleep:
            idle, beacon = (ms / 1e3 for ms in self.sleep)
            if age - self.heard > idle:
                out = (int(age / beacon + self.phase) + 1 - self.phase) * beacon
            self.heard = out
        if self.others:
            self._let_others_in(age)
        if self.rate or self.rates:
            begin = max(out, self.free)
            if (begin - age) * 1e3 > self.queue:
                return None
            rate = next((r for at, r in reversed(self.rates) if at <= begin * 1e3), self.rate)
            self.free = out = begin + packet.size * 8 / (rate * 1e6)
        extra = self.wander.at(age) if self.wander else 0.0
        if self.shift:
            # Another route from this many ms on.
            index = bisect.bisect_right(self.shift_at, age * 1e3) - 1
            extra += self.shift[index][1] if index >= 0 else 0.0
        if self.grant:
            step = self.grant / 1e3
            out = (int(out / step + self.phase) + 1 - self.phase) * step
        if self.late and self.draw.random() < self.late[0]:
            return out + (self.delay + extra + self.late[1]) / 1e3
        # A packet never overtakes the one before.
        self.last = max(self.last, out + (self.delay + extra) / 1e3)
        return self.last

    def _is_lost(self, packet, age):
        if self.burst:
            share, length = self.burst
            if not self.losing and self.draw.random() < share / length:
                self.losing = 1 + int(self.draw.expovariate(1 / length))
            if self.losing:
                self.losing -= 1
                return True
        if self.police:
            rate, depth = self.police
            self.tokens = min(depth * 1e3, self.tokens + (age - self.filled) * rate * 125e3)
            self.filled = age
            if self.tokens < packet.size:
                return True
            self.tokens -= packet.size
        return False

    def _let_others_in(self, age):
        """Large packets of others, at random times, go through the same queue."""
        gap = 1500 * 8 / (self.rate * 1e6) / self.others
        while self.other_at < age:
            self.free = max(self.other_at, self.free) + 1500 * 8 / (self.rate * 1e6)
            self.other_at += self.draw.expovariate(1 / gap)


def too_big(data, mtu):
    """The far end of the path says what fits it: ICMP, fragmentation needed (RFC 1191 §4)."""
    said = bytearray(struct.pack(">BBHHH", 3, 4, 0, 0, mtu) + data[:28])
    said[2:4] = checksum(said)
    head = bytearray(struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(said), 0, 0, 64, 1, 0))
    head += data[16:20] + data[12:16]
    head[10:12] = checksum(head)
    return bytes(head + said)


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack(">H", total ^ 0xFFFF)


def run(near, far, up, down, rule, seed):
    """Carries packets until it is killed. `near` and `far` are the TUN devices' descriptors."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
    except OSError:
        try:
            os.nice(-20)
        except OSError:
            pass
    ways = {near: (UP, up, far), far: (DOWN, down, near)}
    up.start(seed * 2 + 1)
    down.start(seed * 2 + 2)
    heap, order = [], itertools.count()
    began, flows = None, set()
    while True:
        now = time.monotonic()
        wait = max(0.0, heap[0][0] - now) if heap else None
        ready = select.select([near, far], [], [], wait)[0]
        now = time.monotonic()
        for source in ready:
            try:
                data = os.read(source, 65600)
            except BlockingIOError:
                continue
            way, line, target = ways[source]
            packet = Packet(data, way, now)
            # Neighbour and router discovery is not part of the case's traffic.
            if packet.v6 and packet.proto == 58:
                continue
            if began is None:
                began = now
            # The rule ignores packets that an earlier run's connection still sends.
            port = packet.sport if way == UP else packet.dport
            if packet.proto != 6 or packet.flags & SYN:
                flows.add(port)
            verdict = rule(packet) if rule and port in flows else None
            due = line.due(packet, now - began)
            if line.tells and packet.size > line.hole and not packet.v6:
                back = (now + (up.delay + down.delay) / 1e3, next(order), source)
                heapq.heappush(heap, (*back, too_big(data, line.tells)))
            if verdict == DROP or due is None:
                continue
            copies = 1
            if verdict:
                word, value = verdict
                if word == "late":
                    due += value
                elif word == "copy":
                    copies = value
            for _ in range(copies):
                heapq.heappush(heap, (began + due, next(order), target, data))
        now = time.monotonic()
        while heap and heap[0][0] <= now:
            _, _, target, data = heapq.heappop(heap)
            try:
                os.write(target, data)
            except OSError:
                pass
