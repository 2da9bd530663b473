"""Kinds that the other files lack: servers of one thread, HTTP/3 of two makers, two causes at once,
a name server behind another, a path that tells its MTU, a kernel's shaper, a full queue."""

import subprocess
import time

import more_servers
import raw
import servers
from case import CLEAR, SITE, both, data, healthy, lose, nth, sockets, story, syn, with_names
from relay import DOWN, DROP, UP
from stories import BODY, SLOW, behind, nginx

LOST = "response-segment-lost mtu-black-hole"


def all():
    return [*scripts(), *quic(), *pairs(), *before(), *lines(), *names(), *one_trip(), *healthy_ones()]


def scripts():
    # Its ticket, head and body are written one by one, with Nagle's algorithm on.
    yield story("nagle-webrick", more_servers.webrick, "nagle-delayed-ack", SITE + "b600", rtt=55)
    yield story("think-160-twisted", lambda s: more_servers.twisted(s, 160), "server-think-time", SITE + "b600", rtt=35, ms=160)
    # Over HTTP/2, an empty frame ends the body; Nagle's algorithm holds it back.
    yield story("nagle-twisted-h2", more_servers.twisted, "nagle-delayed-ack", SITE + "b600", rtt=55)
    yield story("php-has-another-client", more_servers.occupied(more_servers.php, 900), "server-think-time", rtt=25, warm=False,
                settle=0.3)
    yield story("rate-150k-apache", lambda s: more_servers.apache_limited(s, 150), BODY, "http://site.test:8088/b150000",
                resolve="site.test:8088:10.9.0.1", rtt=30)
    yield story("rate-100k-lighttpd", lambda s: more_servers.lighttpd_limited(s, 100), BODY + " slow-downlink",
                CLEAR + "b150000", rtt=30)


def quic():
    three = "--http3"
    yield story("h3-think-130-aioquic", lambda s: more_servers.aioquic(s, 130), "server-think-time", SITE + "b600", three,
                rtt=35, ms=130, party=("server", 130))
    yield story("h3-stall-240-aioquic", lambda s: more_servers.aioquic(s, stall=240), BODY, SITE + "b9000", three, rtt=35,
                ms=240, party=("server", 240))
    yield story("h3-retry-aioquic", lambda s: more_servers.aioquic(s, retry="retry"), "quic-retry", SITE + "b600", three,
                rtt=65, ms=65)
    yield story("h3-chain-ngtcp2", lambda s: servers.ngtcp2(s, cert="large"), "quic-amplification-stall", SITE + "b600",
                three, rtt=55)
    # aioquic discards its flight at the limit, and never recovers.
    yield story("h3-chain-aioquic", lambda s: more_servers.aioquic(s, cert="large"), "", SITE + "b600", three + " --max-time 4",
                rtt=55, fail="timeout", party=("client", 0))
    # Debian's Caddy may lose the second datagram of a ClientHello, hence --no-pq.
    yield story("h3-slow-start-150k-caddy", more_servers.caddy_h3, "slow-start", SITE + "b150000", three + " --no-pq", rtt=75)
    yield story("h3-downlink-2-mbit-caddy", more_servers.caddy_h3, "slow-downlink", SITE + "b300000", three + " --no-pq",
                rtt=25, down={"rate": 2, "queue": 1500})


def pairs():
    yield story("syn-lost-and-think-400", sockets(raw.think(400)), "syn-lost", rtt=55, rule=lose(UP, 1, which=syn),
                party=("server", 400))
    yield story("hello-retry-and-think-150", behind(raw.think(150), server="ssl_ecdh_curve secp384r1;"), "server-think-time",
                SITE + "b600", rtt=60, ms=150)
    yield story("redirect-and-think-320", both(sockets(raw.redirect(SITE + "b600")), sockets(raw.think(320), port=8090),
                lambda s: servers.nginx(s, upstream=8090)), "server-think-time", CLEAR + "from", "-L", rtt=15, ms=320)
    yield story("segment-lost-on-a-line-3-mbit", nginx(tls=False), "slow-downlink", CLEAR + "b300000", rtt=30,
                rule=lose(DOWN, 60), down={"rate": 3, "queue": 1500})
    yield story("stall-350-in-slow-start", sockets(raw.stalls(60000, 1, 350, 60000)), BODY, rtt=50, party=("server", 350))
    yield story("jitter-and-think-400", sockets(raw.think(400)), "server-think-time", rtt=45,
                up={"jitter": ("exponential", 8)}, down={"jitter": ("exponential", 8)})
    yield story("hints-102-103-then-170", sockets(interims(170)), "server-think-time", rtt=35, ms=170,
                party=("server", 170))
    yield story("continue-unasked-then-140", sockets(interims(140, ("100 Continue",))), "server-think-time", rtt=35, ms=140)


def interims(ms, lines=("102 Processing", "103 Early Hints")):
    """Interim responses at once, and the answer after a while."""

    def tell(talk):
        if talk.request() is None:
            return False
        for line in lines:
            talk.send(f"HTTP/1.1 {line}\r\n\r\n".encode())
        time.sleep(ms / 1e3)
        talk.send(raw.answer(600))
    return tell


def before():
    """What happens before the request."""
    yield story("haproxy-inspects-350", lambda s: more_servers.haproxy_that_inspects(s, 350), "slow-tls-server", SITE + "b600",
                rtt=45, ms=350)
    yield story("ipv6-refused", lambda s: servers.nginx(s, address="10.9.0.1"), "address-refused", SITE + "b600", rtt=45,
                resolve="site.test:443:[fd09::1],10.9.0.1", ms=45)
    def large_six():
        return lambda p: DROP if p.v6 and p.way == DOWN and p.size > 1400 else None

    yield story("ipv6-large-packets-lost", nginx(cert="medium"), "mtu-black-hole", SITE + "b600", "--max-time 4",
                rule=large_six, resolve="site.test:443:[fd09::1],10.9.0.1", fail="timeout")
    yield story("mtu-told-down", nginx(cert="medium"), LOST, SITE + "b600", down={"hole": 1400, "tells": 1400}, rtt=70,
                stage={"far": (("net.ipv4.route.mtu_expires", 1),)}, settle=1.3)
    yield story("resets-the-hello", sockets(resets, port=443), "", SITE + "b600", fail="reset body-reset connection-reset",
                rtt=30)


def resets(talk):
    talk.sock.recv(65536)
    talk.reset()
    return False


def lines():
    yield story("bucket-3-mbit-kernel", more_servers.kernel_bucket(nginx(), "3mbit", "20kb"), "slow-downlink",
                SITE + "b300000", rtt=25)
    yield story("policer-3-bbr", nginx(), "slow-downlink response-segment-lost", SITE + "b300000", rtt=35,
                down={"police": (3, 30)}, stage={"control": "bbr"})
    yield story("up-and-down-1-mbit", behind(raw.think(0, 60000)), "slow-downlink", SITE + "b6", rtt=35, up={"rate": 1},
                down={"rate": 1, "queue": 1500})


def names():
    site = {"site.test": ["10.9.0.1"]}
    def forwarding(start):
        def begin(stage):
            stage.fork_far(lambda: raw.names(site, delay=lambda name, kind: 180, port=5353), 5353)
            more_servers.dnsmasq(stage)
            start(stage)
        return begin
    yield story("resolver-forwards-180", with_names(None, forwarding(sockets(raw.think(0)))), "slow-name-lookup", resolve="",
                rtt=20, ms=200)
    yield story("resolver-210-and-think-90", with_names(site, sockets(raw.think(90)), delay=lambda name, kind: 210),
                "slow-name-lookup", resolve="", rtt=30, ms=240, party=("server", 90))
    yield story("aaaa-900-late", with_names(site, sockets(raw.think(0)), delay=lambda name, kind: 900 if kind == 28 else 0),
                "dns-one-family-unanswered slow-name-lookup", resolve="", rtt=30)


def one_trip():
    """A request of one round trip, on a connection that was kept: a server that delays its
    acknowledgement would look the same."""
    yield story("kept-first-packet-120", sockets(raw.think(0)), "slow-first-packet path-varies late-answer", args="--reuse --http1.1",
                rule=nth(UP, data, 2, verdict=("late", 0.12)), rtt=35, ms=120)
    yield story("kept-first-packet-90-tls", nginx(h2=False), "slow-first-packet path-varies late-answer", SITE + "b600", "--reuse",
                rule=nth(UP, data, 4, verdict=("late", 0.09)), rtt=35, ms=90)


def bulk(stage):
    """Another client downloads over the same line all the time."""
    nginx(plain=8000)(stage)
    load = "while :; do curl -s -m 4 --connect-timeout 1 -o /dev/null http://10.9.0.1:8000/b2000000; done"
    subprocess.Popen(["sh", "-c", load])


def healthy_ones():
    yield healthy("well-php", more_servers.php, CLEAR + "b5000", rtt=55)
    yield healthy("well-stunnel-busybox", more_servers.stunnel_busybox, rtt=55)
    yield healthy("well-h3-aioquic", more_servers.aioquic, args="--http3", rtt=55)
    yield healthy("well-h3-caddy", more_servers.caddy_h3, args="--http3 --no-pq", rtt=55)
    yield healthy("well-h3-caddy-count", more_servers.caddy_h3, args="--http3 --no-pq -c 5 -i 0.02", rtt=55)
    yield healthy("overtaken-6-h3", servers.ngtcp2, SITE + "b5000", "--http3", up={"late": (0.15, 6)}, down={"late": (0.15, 6)},
                  allow="path-varies", rtt=35)
    yield healthy("bulk-beside-6-mbit", bulk, rtt=30, args="-c 6 -i 0.3", down={"rate": 6, "queue": 350}, warm=False,
                  allow="path-varies slow-first-packet slow-downlink response-segment-lost syn-lost segment-lost", seconds=25)
