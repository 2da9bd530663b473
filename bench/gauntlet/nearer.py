"""What stands between client and server and answers in its place, acknowledgements that wait for a timer,
lines whose rate changes, and servers whose clock keeps step with the path."""

import random

import more_servers
import raw
import servers
from case import CLEAR, SITE, both, every, healthy, pure_ack, sockets, story, with_names
from relay import DOWN, DROP
from stories import BODY, LATE, SLOW, behind, nginx, nginx_upload

UNKNOWN = "late-answer late-body"
NEAR = "127.0.0.1"


def all():
    return [*acknowledgements(), *between(), *lines(), *clocks(), *uploads(), *names(), *bodies(), *quic()]


def acknowledgements():
    def haproxy(ms):
        return both(sockets(raw.think(ms), port=8090), lambda s: servers.haproxy(s, 8090, tls=False))

    # Its kernel delays the first acknowledgement, because HAProxy asks for it.
    for ms, rtt in ((110, 40), (250, 100), (300, 15)):
        yield story(f"think-{ms}-haproxy-clear-over-{rtt}", haproxy(ms), "server-think-time", rtt=rtt, ms=ms, party=("server", ms))
    yield story("think-200-haproxy-clear-kept", haproxy(200), "server-think-time", args="--reuse", rtt=60, ms=200)
    # On a kept connection of a long path, the kernel's timer grows.
    yield story("think-300-kept-for-long", sockets(raw.think(300)), "server-think-time", args="--reuse --http1.1 -c 22", rtt=150,
                ms=300, party=("server", 6600), seconds=30)
    yield story("think-220-kept-for-long-tls", sockets(raw.think(220), tls={}), "server-think-time", SITE + "b600",
                "--reuse --http1.1 -c 22", rtt=120, ms=220, party=("server", 4840), seconds=30)


def forwarder(start, port):
    """A balancer beside the client accepts the connection, and opens one to the server."""

    def begin(stage):
        start(stage)
        config = stage.dir / "near.cfg"
        config.write_text(f"""
defaults
  mode tcp
  timeout connect 9s
  timeout client 30s
  timeout server 30s
listen l
  bind {NEAR}:{port}
  server s 10.9.0.1:{port}
""")
        stage.serve("haproxy", "-db", "-f", str(config), port=port, near=True)

    return begin


def tunnel(start):
    """A proxy beside the client."""

    def begin(stage):
        start(stage)
        stage.fork_far(lambda: raw.serve(raw.connect_proxy(0), 3129), 3129, near=True)

    return begin


def between():
    for rtt in (60, 150):
        # The server is far, and something near acknowledges: nobody is slow.
        here = {"resolve": f"site.test:443:{NEAR}", "rtt": rtt}
        clear = {"resolve": f"site.test:80:{NEAR}", "rtt": rtt}
        yield healthy(f"forwarded-over-{rtt}", forwarder(nginx(), 443), allow=UNKNOWN, **here)
        yield story(f"forwarded-100k-over-{rtt}", forwarder(nginx(), 443), f"{UNKNOWN} {SLOW}", SITE + "b100000", **here)
        yield story(f"forwarded-100k-h1-over-{rtt}", forwarder(nginx(h2=False), 443), f"{UNKNOWN} {SLOW}", SITE + "b100000", **here)
        yield story(f"forwarded-100k-clear-over-{rtt}", forwarder(nginx(tls=False), 80), f"{UNKNOWN} {SLOW} {LATE}",
                    CLEAR + "b100000", **clear)
        way = f"-x http://{NEAR}:3129"
        yield story(f"tunnel-over-{rtt}", tunnel(nginx()), "proxy-connect", SITE + "b600", way, rtt=rtt, ms=rtt)
        yield story(f"tunnel-100k-over-{rtt}", tunnel(nginx()), f"proxy-connect {UNKNOWN} {SLOW}", SITE + "b100000", way, rtt=rtt)
        yield story(f"tunnel-100k-h1-over-{rtt}", tunnel(nginx(h2=False)), f"proxy-connect {UNKNOWN} {SLOW}", SITE + "b100000", way,
                    rtt=rtt)
    yield story("tunnel-think-400", tunnel(behind(raw.think(400))), "server-think-time late-answer", SITE + "b600", way, rtt=60, ms=400)


def cell(seed, least, most, each=120):
    """The rate of a radio cell: another one, up to `most` Mbit/s, each so many ms."""
    draw = random.Random(seed)
    return tuple((n * each, draw.uniform(least, most)) for n in range(100))


def lines():
    slow = "slow-downlink"
    for name, rates in (("falls", ((0, 8), (450, 2))), ("rises", ((0, 2), (600, 8))), ("cell-1", cell(1, 1, 9)), ("cell-2", cell(2, 1, 9)),
                        ("cell-3", cell(3, 0.5, 5))):
        down = {"rates": rates, "queue": 3000}
        yield story(f"line-{name}-h2", nginx(), slow, SITE + "b500000", down=down)
        yield story(f"line-{name}-clear", nginx(tls=False), slow, CLEAR + "b500000", down=down)
    for rate in (0.25, 0.5):
        down = {"rate": rate, "queue": 3000}
        yield story(f"line-{rate}-9k", nginx(), slow, SITE + "b9000", down=down)
        yield story(f"line-{rate}-9k-clear", nginx(tls=False), slow, CLEAR + "b9000", down=down)
        yield story(f"line-{rate}-chain", nginx(cert="medium"), slow, SITE + "b600", down=down)
        yield story(f"line-{rate}-9k-over-300", nginx(), slow + " slow-uplink", SITE + "b9000", rtt=300, down=down, up={"rate": 0.1})


def clocks():
    """The server pauses for as long as a round trip takes."""
    for count, ms, each in ((3, 100, 2000), (4, 40, 4000), (25, 20, 2000), (5, 60, 600)):
        yield story(f"stalls-{count}-of-a-trip-{ms}", sockets(raw.stalls(each, count, ms, each)), BODY, rtt=ms, ms=count * ms)
    yield story("stalls-4-of-a-trip-80-tls", sockets(raw.stalls(3000, 4, 80, 3000), tls={}), BODY, SITE + "b6", rtt=80, ms=320)


def uploads():
    up = "-d @site/b60000"
    yield story("upload-and-think-400", sockets(raw.think(400)), "server-think-time", CLEAR + "up", up, rtt=50, ms=400)
    yield story("upload-and-think-400-nginx", behind(raw.think(400)), "server-think-time", SITE + "up", up, rtt=50, ms=400)
    line = {"rate": 1, "queue": 3000}
    yield story("upload-slowly-and-think-300", nginx_upload(), "slow-uplink", SITE + "up", up, up=line)
    yield story("upload-slowly-and-think-900", sockets(raw.think(900)), "server-think-time", CLEAR + "up", up, up=line,
                party=("server", 900))


def names():
    site = {"site.test": ["10.9.0.1"]}
    http = sockets(raw.think(0))
    both_servers = "nameserver 10.9.0.5\nnameserver 10.9.0.1\noptions timeout:2\n"

    def second(start, **more):
        def begin(stage):
            stage.far_address("10.9.0.5")
            if more:
                stage.fork_far(lambda: raw.names(site, host="10.9.0.5", **more), 53)
            start(stage)

        return begin

    yield story("name-server-fails-first", with_names(site, second(http, rcode=2), resolv=both_servers, host="10.9.0.1"),
                "slow-name-lookup", resolve="", rtt=40, ms=80)
    yield story("name-server-refuses-first", with_names(site, second(http, rcode=5), resolv=both_servers, host="10.9.0.1"),
                "slow-name-lookup", resolve="", rtt=40, ms=80)
    yield story("name-server-closed-first", with_names(site, second(http), resolv=both_servers, host="10.9.0.1"), "slow-name-lookup",
                resolve="", rtt=40, ms=80)
    late = {"rcode": 2, "delay": lambda name, kind: 1300}
    yield story("name-server-fails-late", with_names(site, second(http, **late), resolv=both_servers, host="10.9.0.1"),
                "slow-name-lookup", resolve="", rtt=40, ms=1380)
    six = {"six.test": ["fd09::1"]}
    yield healthy("name-has-only-aaaa", with_names(six, http), "http://six.test/b600", resolve="", rtt=5)


def bodies():
    yield story("rate-limit-after-60k", nginx(location="limit_rate_after 60k; limit_rate 60k;"), BODY, SITE + "b150000")
    yield story("stalls-each-64k", sockets(raw.stalls(65536, 3, 250, 65536)), BODY, rtt=25)
    yield story("stalls-each-64k-behind-nginx", behind(raw.stalls(65536, 3, 250, 65536)), BODY, SITE + "b6", rtt=25)
    yield story("first-packet-300-then-stall-700", sockets(raw.stalls(900, 1, 700, 900)), BODY, rtt=120,
                up={"shift": ((0, 300), (100, 0))}, party=("server", 700), warm=False,
                rule=every(DOWN, pure_ack, 1, DROP))


def quic():
    def caddy(story_):
        def begin(stage):
            sockets(story_, port=8090)(stage)
            more_servers.caddy_h3(stage, upstream=8090)

        return begin

    three = "--http3 --no-pq"
    yield story("h3-think-150-caddy", caddy(raw.think(150)), "server-think-time", SITE + "b600", three, rtt=35, ms=150)
    yield story("h3-think-150-caddy-kept", caddy(raw.think(150)), "server-think-time", SITE + "b600", three + " --reuse", rtt=60,
                ms=150)
    yield story("h3-stall-300-caddy", caddy(raw.stalls(3000, 1, 300, 3000)), BODY, SITE + "b600", three, rtt=35, ms=300)
