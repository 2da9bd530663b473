"""The healthy exchanges: the only permitted finding is that a path varies, where it does."""

import raw
import servers
from case import CLEAR, SITE, anything, both, data, every, healthy, nth, pure_ack, sockets
from relay import DOWN, DROP, UP
from stories import behind, nginx

VARIES = "path-varies"


def all():
    return [*makers(), *distances(), *unrest(), *odd(), *kept()]


def makers():
    for name, start in (
        ("nginx", servers.nginx), ("apache", servers.apache), ("caddy", servers.caddy), ("lighttpd", servers.lighttpd),
        ("node-https", servers.node), ("node-h2", lambda s: servers.node(s, "http2")), ("python", servers.python_http),
        ("aiohttp", servers.aiohttp), ("openssl", servers.s_server),
        ("hitch", both(nginx(tls=False, port=8090), lambda s: servers.hitch(s, 8090))),
        ("haproxy", both(nginx(tls=False, port=8090), lambda s: servers.haproxy(s, 8090))),
    ):
        yield healthy(f"well-{name}", start)
    for name, start in (("nginx", nginx(tls=False)), ("apache", lambda s: servers.apache(s, tls=False)),
                        ("lighttpd", lambda s: servers.lighttpd(s, tls=False)), ("node", lambda s: servers.node(s, "http")),
                        ("python", lambda s: servers.python_http(s, tls=False)),
                        ("varnish", both(nginx(tls=False, port=8090), lambda s: servers.varnish(s, 8090))),
                        ("haproxy", both(nginx(tls=False, port=8090), lambda s: servers.haproxy(s, 8090, tls=False)))):
        yield healthy(f"well-{name}-clear", start, CLEAR + "b5000")


def distances():
    for rtt in (0, 1, 5, 15, 80, 150, 300):
        yield healthy(f"well-over-{rtt}", nginx(), rtt=rtt)
    for rtt in (0, 2, 120):
        yield healthy(f"well-h1-over-{rtt}", nginx(h2=False), SITE + "b9000", rtt=rtt)
    yield healthy("well-python-tls-over-60", sockets(raw.think(0), tls={}), rtt=60)
    yield healthy("well-raw-over-25", sockets(raw.think(0, 5000)), CLEAR + "b5000", rtt=25)


def unrest():
    for mean in (1.5, 5, 10, 20):
        for shape in ("uniform", "exponential"):
            both_ways = {"jitter": (shape, mean)}
            yield healthy(f"jitter-{shape}-{mean}-h2", nginx(), up=both_ways, down=both_ways, allow=VARIES)
        yield healthy(f"jitter-{mean}-h1-clear", nginx(tls=False), CLEAR + "b600", up={"jitter": ("exponential", mean)},
                      down={"jitter": ("exponential", mean)}, allow=VARIES)
        yield healthy(f"jitter-{mean}-tls-python", sockets(raw.think(0), tls={}), up={"jitter": ("uniform", mean)},
                      down={"jitter": ("uniform", mean)}, allow=VARIES)
    for mean in (3, 8):
        way = {"jitter": ("wifi", mean)}
        yield healthy(f"wifi-{mean}-h2", nginx(), up=way, down=way, allow=VARIES)
        yield healthy(f"wifi-{mean}-clear", nginx(tls=False), CLEAR + "b600", up=way, down=way, allow=VARIES)
        yield healthy(f"wifi-{mean}-count-5", nginx(), args="-c 5 -i 0.02", up=way, down=way, allow=VARIES)
    yield healthy("jitter-5-count-5", nginx(), args="-c 5 -i 0.02", up={"jitter": ("exponential", 5)},
                  down={"jitter": ("exponential", 5)}, allow=VARIES)


def odd():
    for number in (1, 2):
        yield healthy(f"reordered-4-ms-{number}", nginx(h2=False), SITE + "b9000",
                      rule=nth(DOWN, lambda p: p.has_data() and len(p.payload) > 1000, number, verdict=("late", 0.004)), allow=VARIES)
    yield healthy("reordered-hello", nginx(), rule=nth(UP, data, 1, verdict=("late", 0.001)), allow=VARIES)
    yield healthy("duplicates-half", nginx(), rule=every(DOWN, anything, 0.5, ("copy", 2)))
    yield healthy("duplicates-up-half", nginx(), rule=every(UP, anything, 0.5, ("copy", 2)))
    yield healthy("duplicates-all-clear", nginx(tls=False), CLEAR + "b9000", rule=every(DOWN, anything, 1, ("copy", 2)))
    yield healthy("acks-lost-half", nginx(), SITE + "b5000", rule=every(UP, pure_ack, 0.5, DROP))
    yield healthy("acks-lost-down", nginx(), SITE + "b5000", rule=every(DOWN, pure_ack, 1, DROP))
    yield healthy("bbr-h2", nginx(), SITE + "b5000", stage={"control": "bbr"})
    yield healthy("bbr-h1", nginx(h2=False), SITE + "b9000", stage={"control": "bbr"}, rtt=80)
    yield healthy("reno-h2", nginx(), SITE + "b5000", stage={"control": "reno"})
    ecn = (("net.ipv4.tcp_ecn", 1),)
    yield healthy("ecn", nginx(), stage={"near": ecn, "far": ecn})
    yield healthy("ipv6", nginx(), resolve="site.test:443:[fd09::1]")
    yield healthy("ipv6-and-ipv4", nginx(), resolve="site.test:443:[fd09::1],10.9.0.1")
    yield healthy("mtu-1280", nginx(), SITE + "b5000", stage={"mtu": 1280})
    yield healthy("mtu-1280-h1", nginx(h2=False), SITE + "b5000", stage={"mtu": 1280}, rtt=90)
    yield healthy("medium-certificate", nginx(cert="medium"))
    yield healthy("no-tickets", sockets(raw.think(0), tls={"tickets": 0}))
    yield healthy("think-1", sockets(raw.think(1)), CLEAR + "b6", rtt=60)
    yield healthy("fast-line", nginx(), SITE + "b5000", up={"rate": 100}, down={"rate": 100})
    yield healthy("hints-at-once", sockets(raw.early_hints(0)), CLEAR + "b6")


def kept():
    for rtt in (1, 40, 150):
        yield healthy(f"kept-h1-over-{rtt}", nginx(h2=False), args="--reuse", rtt=rtt)
        yield healthy(f"kept-h2-over-{rtt}", nginx(), args="--reuse", rtt=rtt)
    yield healthy("kept-9k-bbr", nginx(h2=False), SITE + "b9000", "--reuse", stage={"control": "bbr"})
    yield healthy("resumed", nginx(h2=False), args="--resume")
    yield healthy("count-6-h2", nginx(), args="-c 6 -i 0.02")
    yield healthy("count-6-clear", nginx(tls=False), CLEAR + "b600", "-c 6 -i 0.02")
    yield healthy("count-4-python", lambda s: servers.python_http(s), args="-c 4 -i 0.02")
    yield healthy("behind-nginx-chunked", behind(raw.think(0, 5000)), SITE + "b5000")
    for rtt in (20, 40, 150):
        yield healthy(f"h3-over-{rtt}", servers.ngtcp2, args="--http3", rtt=rtt)
    way = {"jitter": ("exponential", 5)}
    yield healthy("h3-jitter-5", servers.ngtcp2, args="--http3", up=way, down=way, allow=VARIES)
    yield healthy("h3-5k", servers.ngtcp2, SITE + "b5000", "--http3")
