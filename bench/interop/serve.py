"""Runs a server of QUIC at the far end of a path, and listens on TCP port 80 as soon as it has UDP port 443:
`roundtrip path` waits for that. A client that connects there gets bytes without end, as cross traffic.

    serve.py COMMAND...
"""

import contextlib
import pathlib
import socket
import subprocess
import sys
import threading
import time

QUIC_PORT = ":01BB"
PATIENCE = 20


def has_port():
    lines = [line for name in ("udp", "udp6") for line in pathlib.Path(f"/proc/self/net/{name}").read_text().splitlines()[1:]]
    return any(line.split()[1].endswith(QUIC_PORT) for line in lines)


def flood(listener):
    while True:
        with listener.accept()[0] as connection, contextlib.suppress(OSError):
            while True:
                connection.sendall(bytes(1 << 16))


server = subprocess.Popen(sys.argv[1:])
until = time.monotonic() + PATIENCE
while not has_port():
    if server.poll() is not None or time.monotonic() > until:
        sys.exit(server.poll() or 1)
    time.sleep(0.02)
threading.Thread(target=flood, args=[socket.create_server(("", 80))], daemon=True).start()
sys.exit(server.wait())
