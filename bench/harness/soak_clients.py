"""All kinds of clients of a soak, their number, and how often they make requests."""

import threading

from harness.soak_applications import Early, Grpc, Login, Preflight
from harness.soak_bodies import (AbortedDownload, AbortedDownloadFromH2, AbortedUpload, AbortedUploadToH2, Buffered, Chunked, Counted, CountedToH2, Download,
                                 DownloadFromH2, Events, Expecting, RevokedEvents, SlowDownload, Socket, SocketOverH2, Trickled)
from harness.soak_requests import Bad, H2, H2ToH2, H3, Kept, KeptToH2, Leaves, New, NoWindow, Old, Pipelined, Posts, PostsToH2, Resumed, Revoked, Tls


# kind: (its class, how many of them, seconds between two turns)
KINDS = {
    "h1 kept": (Kept, 2, 0.12), "h1 new": (New, 1, 0.25), "h1 pipelined": (Pipelined, 1, 0.5), "h1 POST": (Posts, 2, 0.06),
    "TLS full": (Tls, 1, 0.5), "TLS resumed": (Resumed, 1, 0.4), "h2": (H2, 2, 0.6), "h3": (H3, 1, 2.0),
    "upload counted": (Counted, 1, 0.6), "upload chunked": (Chunked, 1, 0.5), "upload trickled": (Trickled, 2, 0.5), "upload aborted": (AbortedUpload, 1, 0.4),
    "download": (Download, 1, 1.5), "download aborted": (AbortedDownload, 1, 0.6), "WebSocket": (Socket, 2, 0.3), "events": (Events, 2, 0.3),
    "HTTP/1.0": (Old, 1, 0.4), "upload expected": (Expecting, 1, 0.5), "download slow": (SlowDownload, 2, 0.5), "h2 without a window": (NoWindow, 1, 0.5),
    "to h2": (KeptToH2, 2, 0.12), "POST to h2": (PostsToH2, 2, 0.06), "h2 to h2": (H2ToH2, 2, 0.6), "upload to h2": (CountedToH2, 1, 0.6),
    "upload to h2 aborted": (AbortedUploadToH2, 1, 0.4), "download from h2": (DownloadFromH2, 1, 1.5), "download from h2 aborted": (AbortedDownloadFromH2, 1, 0.6),
    "upload buffered": (Buffered, 1, 0.6), "WebSocket over h2": (SocketOverH2, 1, 0.4),
    "login": (Login, 1, 1.0), "preflight": (Preflight, 1, 0.3), "early data": (Early, 1, 0.6), "gRPC": (Grpc, 1, 0.3),
    "bad token": (Bad, 1, 0.25), "left while it thinks": (Leaves, 2, 0.4), "revoked": (Revoked, 2, 0.06), "revoked events": (RevokedEvents, 1, 0.1),
}


def start(scene, seed):
    """Starts all of them, each in a thread; they end when `scene.over` is set."""
    threads = []
    for kind, (client, count, pause) in KINDS.items():
        for number in range(count):
            thread = threading.Thread(target=client(scene, kind, pause, f"{seed} {kind} {number}").run, daemon=True, name=kind)
            thread.start()
            threads.append(thread)
    return threads
