# A name server on port 53 of the address given: `one.test` is the second address given, `none.test` does not exist,
# `broken.test` is SERVFAIL, and about everything else it is silent. It writes the file given when it listens.
import pathlib
import socket
import struct
import sys

listen, address, ready = sys.argv[1:]
door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
door.bind((listen, 53))
pathlib.Path(ready).write_text("ready")
while True:
    query, client = door.recvfrom(4096)
    end = query.index(0, 12) + 5
    question = query[12:end]
    name, kind = question[:-4], struct.unpack("!H", question[-4:-2])[0]
    code = {b"\3one\4test\0": 0, b"\4none\4test\0": 3, b"\6broken\4test\0": 2}.get(name)
    if code is None:
        continue
    answer = b""
    if code == 0 and kind == 1:
        answer = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + socket.inet_aton(address)
    counts = struct.pack("!HHHH", 1, 1 if answer else 0, 0, 0)
    door.sendto(query[:2] + struct.pack("!H", 0x8180 | code) + counts + question + answer, client)
