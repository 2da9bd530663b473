"""Further servers, and paths as radio, cable and a full line make them: which the other files lack. Healthy exchanges,
except for a few stories. A finding may say that a path loses or reorders packets; no finding may blame the server.
"""

import app_servers
import servers
from case import CLEAR, SITE, healthy, story
from stories import nginx

VARIES = "path-varies"
LOST = VARIES + " segment-lost response-segment-lost syn-lost slow-start quic-response-loss"
LATE = VARIES + " late-answer slow-first-packet"
SERIES = "-c 8 -i 0.02"


def all():
    return [*makers(), *stacks(), *radio(), *shared(), *lossy(), *stories()]


def makers():
    for name, start in (
        ("go", app_servers.go), ("java", app_servers.java), ("uvicorn", app_servers.uvicorn),
        ("gunicorn", app_servers.gunicorn), ("h2o", app_servers.h2o),
        ("tornado", app_servers.tornado),
    ):
        yield healthy(f"well-{name}", start)
        # Go's records of 1 kB fill the first window of segments sooner.
        size = 5000 if name == "go" else 9000
        yield healthy(f"well-{name}-{size}-over-90", start, SITE + f"b{size}", rtt=90)
        yield healthy(f"well-{name}-count", start, args="-c 5 -i 0.02")
    for name, start in (("go", app_servers.go), ("java", app_servers.java), ("h2o", app_servers.h2o)):
        yield healthy(f"well-{name}-kept", start, args="--reuse", rtt=25)
        way = {"jitter": ("exponential", 4)}
        yield healthy(f"jitter-{name}", start, up=way, down=way, allow=VARIES)


def stacks():
    """TCP as other systems have it."""
    for key in ("timestamps", "sack", "window_scaling", "dsack"):
        off = ((f"net.ipv4.tcp_{key}", 0),)
        yield healthy(f"without-{key}", nginx(), SITE + "b5000", stage={"far": off})
        yield healthy(f"without-{key}-h1-clear", nginx(tls=False), CLEAR + "b9000", rtt=90, stage={"far": off})
    off = (("net.ipv4.tcp_timestamps", 0),)
    way = {"jitter": ("uniform", 5)}
    yield healthy("without-timestamps-jitter", nginx(), stage={"far": off}, up=way, down=way, allow=VARIES)
    yield healthy("without-timestamps-kept", nginx(), args="--reuse", stage={"near": off})


def radio():
    for ms in (4, 10, 20):
        way = {"grant": ms}
        yield healthy(f"grants-{ms}", nginx(), up=way, allow=VARIES)
        yield healthy(f"grants-{ms}-both-ways", nginx(), up=way, down=way, allow=VARIES)
        yield healthy(f"grants-{ms}-clear", nginx(tls=False), CLEAR + "b600", up=way, down=way, allow=VARIES)
        yield healthy(f"grants-{ms}-count", nginx(), args=SERIES, up=way, down=way, allow=VARIES, seconds=25)
    for idle in (30, 60):
        down = {"sleep": (idle, 102.4)}
        yield healthy(f"power-save-{idle}", nginx(), down=down, allow=LATE)
        yield healthy(f"power-save-{idle}-clear", nginx(tls=False), CLEAR + "b600", down=down, allow=LATE)
        yield healthy(f"power-save-{idle}-count", nginx(), args=SERIES, down=down, allow=LATE, seconds=25)
    for mean in (2, 5, 12):
        way = {"jitter": ("wifi", mean)}
        yield healthy(f"radio-{mean}-count", nginx(), args=SERIES, up=way, down=way, allow=VARIES, seconds=25)
        yield healthy(f"radio-{mean}-count-go", app_servers.go, args=SERIES, up=way, down=way, allow=VARIES, seconds=25)
        yield healthy(f"radio-{mean}-kept", nginx(), args="--reuse", up=way, down=way, allow=VARIES)
    yield healthy("radio-5-h3", servers.ngtcp2, args="--http3", up={"jitter": ("wifi", 5)},
                  down={"jitter": ("wifi", 5)}, allow=VARIES)
    yield healthy("grants-10-h3", servers.ngtcp2, args="--http3", up={"grant": 10}, down={"grant": 10}, allow=VARIES)


def shared():
    """A line whose queue also holds other clients' packets."""
    for rate, share in ((5, 0.5), (5, 0.8), (10, 0.9), (20, 0.95)):
        way = {"rate": rate, "others": share}
        name = f"shared-{rate}-{int(share * 100)}"
        yield healthy(name, nginx(), down=way, allow=VARIES)
        yield healthy(f"{name}-up", nginx(), up=way, allow=VARIES + " slow-uplink")
        yield healthy(f"{name}-count", nginx(), args=SERIES, up=way, down=way, allow=VARIES + " slow-uplink", seconds=25)
        yield healthy(f"{name}-clear", nginx(tls=False), CLEAR + "b600", up=way, down=way, allow=VARIES)
    way = {"rate": 10, "others": 0.9}
    yield healthy("shared-h3", servers.ngtcp2, args="--http3", up=way, down=way, allow=VARIES)


def lossy():
    for share, length in ((0.02, 1), (0.05, 1), (0.05, 3)):
        way = {"burst": (share, length)}
        name = f"lossy-{int(share * 100)}-{length}"
        yield healthy(f"{name}-count", nginx(), args=SERIES, down=way, allow=LOST, seconds=40)
        yield healthy(f"{name}-9k-count", nginx(), SITE + "b9000", args=SERIES, up=way, down=way, allow=LOST, seconds=40)
    for ms in (3, 15):
        way = {"late": (0.2, ms)}
        yield healthy(f"overtaken-{ms}", nginx(), SITE + "b9000", up=way, down=way, allow=LOST)
        yield healthy(f"overtaken-{ms}-count", nginx(), SITE + "b5000", args=SERIES, up=way, down=way, allow=LOST, seconds=25)


def stories():
    for start, name in ((app_servers.go, "go"), (app_servers.java, "java"), (app_servers.uvicorn, "uvicorn"), (app_servers.gunicorn, "gunicorn")):
        yield story(f"think-90-{name}", lambda s, start=start: start(s, 90), "server-think-time", SITE + "b600", ms=90)
        yield story(f"slow-start-60k-{name}", start, "slow-start record-over-window", SITE + "b60000")
    # Its listener's protocol number hides from asyncio that it is TCP: Nagle's algorithm stays on.
    yield story("nagle-hypercorn", app_servers.hypercorn, "nagle-delayed-ack", SITE + "b600")
    yield story("think-150-shared-line", lambda s: app_servers.go(s, 150), "server-think-time", SITE + "b600",
                down={"rate": 10, "others": 0.7})
    yield story("think-200-grants", lambda s: app_servers.go(s, 200), "server-think-time", SITE + "b600",
                up={"grant": 10}, down={"grant": 10})
    yield story("radio-wakes", nginx(), "slow-first-packet", SITE + "b600", up={"shift": ((0, 150), (100, 0))})
    for rate, depth in ((2, 20), (4, 40)):
        yield story(f"policer-{rate}", nginx(), "slow-downlink response-segment-lost", SITE + "b300000",
                    down={"police": (rate, depth)})
    yield story("asymmetric-03-up", nginx(), "slow-uplink", SITE + "b600", up={"rate": 0.3}, down={"rate": 20}, warm=False)
    yield story("downlink-3-mbit-go", app_servers.go, "slow-downlink", SITE + "b300000", rtt=30, down={"rate": 3, "queue": 1500})
