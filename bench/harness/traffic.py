"""Traffic for measuring a path: `python3 traffic.py ROLE ADDRESS …`, one role at each end. Prints one line of
JSON.

The far end runs `serve`; it does what the near end requests over a control connection, and reports what it
saw.
    serve ADDRESS                 until a near end has been served
    ping ADDRESS COUNT            small datagrams one after the other, with pauses: one-way time of each
    stream ADDRESS MEGABYTES      one TCP connection upwards
    blast ADDRESS SECONDS         small datagrams as fast as possible
"""

import json
import os
import pathlib
import random
import socket
import struct
import sys
import time

PORT = 5001
RENO = b"reno"


def main():
    role, address = sys.argv[1], sys.argv[2]
    if role == "serve":
        return serve(address)
    near = {"ping": ping, "stream": stream, "blast": blast}[role]
    print(json.dumps(near(address, float(sys.argv[3]))))


def serve(address):
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.setsockopt(socket.SOL_SOCKET, socket.SO_TIMESTAMPNS_NEW if hasattr(socket, "SO_TIMESTAMPNS_NEW") else 35, 1)
    datagrams.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUFFORCE if hasattr(socket, "SO_RCVBUFFORCE") else 33, 64 << 20)
    datagrams.bind((address, PORT))
    with socket.create_server((address, PORT)) as listener:
        control, _ = listener.accept()
    request = json.loads(control.makefile().readline())
    control.sendall(json.dumps({"ready": True}).encode() + b"\n")
    seen = {"ping": see_pings, "stream": see_stream, "blast": see_blast}[request["role"]](control, datagrams, request)
    control.sendall(json.dumps(seen).encode() + b"\n")


def ask(address, **request):
    """Opens a control connection with the far end ready; also returns a function that waits for its report."""
    control = socket.create_connection((address, PORT))
    # The congestion control that all users may choose: with pacing, which some hosts use by default, bulk traffic
    # would measure a timer.
    control.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, RENO)
    control.sendall(json.dumps(request).encode() + b"\n")
    lines = control.makefile()
    json.loads(lines.readline())
    return control, lambda: json.loads(lines.readline())


def ping(address, count):
    control, seen = ask(address, role="ping", count=int(count))
    sender, apart = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), random.Random(1)
    for _ in range(int(count)):
        time.sleep(apart.uniform(0.004, 0.012))
        sender.sendto(struct.pack("!Q", time.clock_gettime_ns(time.CLOCK_REALTIME)), (address, PORT))
    return {"one_way_us": seen()}


def see_pings(_control, datagrams, request):
    """The kernel's time of each arrival, minus the time by the sender's clock."""
    datagrams.settimeout(20)
    took = []
    for _ in range(request["count"]):
        data, ancillary, _, _ = datagrams.recvmsg(64, 256)
        seconds, nanoseconds = struct.unpack("qq", ancillary[0][2][:16])
        took.append((seconds * 10**9 + nanoseconds - struct.unpack("!Q", data)[0]) / 1000)
    return took


def stream(address, megabytes):
    control, seen = ask(address, role="stream")
    block, began, spent = bytes(1 << 18), time.monotonic(), relay_cpu()
    for _ in range(int(megabytes * 4)):
        control.sendall(block)
    control.shutdown(socket.SHUT_WR)
    received = seen()
    took = time.monotonic() - began
    return {"mb_s": received / 1e6 / took, "relay_cpu_s": relay_cpu() - spent, "bytes": received}


def see_stream(control, _datagrams, _request):
    received, buffer = 0, bytearray(1 << 18)
    while length := control.recv_into(buffer):
        received += length
    return received


def blast(address, seconds):
    control, seen = ask(address, role="blast")
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.connect((address, PORT))
    began, spent, sent, data = time.monotonic(), relay_cpu(), 0, bytes(18)
    while time.monotonic() - began < seconds:
        for _ in range(64):
            sender.send(data)
        sent += 64
    took = time.monotonic() - began
    control.sendall(b"end\n")
    received = seen()
    cpu = relay_cpu() - spent
    return {"sent_s": sent / took, "received_s": received / took, "relay_us": cpu * 1e6 / max(1, received)}


def see_blast(control, datagrams, _request):
    """Counts until the sender has ended and nothing has arrived for a while."""
    received, buffer = 0, bytearray(64)
    control.setblocking(False)
    datagrams.settimeout(0.3)
    while True:
        try:
            datagrams.recv_into(buffer)
            received += 1
        except TimeoutError:
            if has_ended(control):
                return received


def has_ended(control):
    try:
        return bool(control.recv(16))
    except BlockingIOError:
        return False


def relay_cpu():
    """The processor time in seconds of the relay's thread of the parent program; 0 if there is none."""
    process = os.getppid()
    for _ in range(4):
        for task in pathlib.Path(f"/proc/{process}/task").glob("*"):
            try:
                if (task / "comm").read_text().strip() == "path-relay":
                    fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
                    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            except OSError:
                continue
        process = int(pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
        if process <= 1:
            break
    return 0.0


if __name__ == "__main__":
    main()
