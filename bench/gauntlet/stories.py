"""The stories: each case injects one trouble, whose cause must come first."""

import os

import raw
import servers
from case import (CLEAR, SITE, after_request, both, crowded, data, every, lose, nth, quota, slow_reader,
                  sockets, stopped, story, syn, syn_ack, with_names)
from relay import DOWN, DROP, UP

LATE = "server-think-time late-answer"
BODY = "body-stalls body-paced"
SLOW = "slow-start record-over-window"


def nginx(**more):
    return lambda stage: servers.nginx(stage, **more)


def behind(story_, **more):
    """nginx before a raw server."""
    return both(sockets(story_, port=8090), lambda stage: servers.nginx(stage, upstream=8090, **more))


def all():
    return [*thinking(), *handshakes(), *losses(), *nagle(), *bodies(), *links(), *windows(), *connections(), *detours(),
            *ends(), *paths(), *clients(), *names(), *proxies(), *uploads(), *kept(), *quic()]


def thinking():
    def word(ms, timed=False):
        return LATE if ms <= 45 and not timed else "server-think-time"
    for ms, rtt in ((20, 40), (60, 40), (82, 40), (60, 300), (20, 1), (45, 15), (150, 100), (700, 25), (41, 80)):
        yield story(f"think-{ms}-over-{rtt}", sockets(raw.think(ms)), word(ms), rtt=rtt, ms=ms, party=("server", ms))
    for ms, rtt in ((20, 40), (60, 40), (82, 40), (42, 40), (60, 300), (85, 90)):
        yield story(f"think-{ms}-over-{rtt}-behind-tickets", sockets(raw.think(ms), tls={}), word(ms), SITE + "b600", rtt=rtt,
                    ms=ms)
    for ms, rtt in ((60, 40), (83, 20), (200, 5)):
        yield story(f"think-{ms}-over-{rtt}-nginx-h2", behind(raw.think(ms)), "server-think-time", SITE + "b600", rtt=rtt, ms=ms)
        yield story(f"think-{ms}-over-{rtt}-nginx-h1", behind(raw.think(ms), h2=False), "server-think-time", SITE + "b600",
                    rtt=rtt, ms=ms)
    yield story("think-30-says-server-timing", sockets(raw.think(30, headers="Server-Timing: db;dur=30\r\n")),
                "server-think-time", ms=30, party=("server", 30))
    yield story("think-120-node-https", lambda s: servers.node(s, "https", 120), "server-think-time", SITE + "b600", ms=120)
    yield story("think-90-node-h2", lambda s: servers.node(s, "http2", 90), "server-think-time", SITE + "b600", ms=90)
    yield story("think-130-aiohttp", lambda s: servers.aiohttp(s, 130), "server-think-time", SITE + "b600", ms=130)
    yield story("think-110-behind-haproxy", both(sockets(raw.think(110), port=8090), lambda s: servers.haproxy(s, 8090)),
                "server-think-time", SITE + "b600", ms=110)
    yield story("think-110-behind-hitch", both(sockets(raw.think(110), port=8090), lambda s: servers.hitch(s, 8090)),
                "server-think-time", SITE + "b600", ms=110)
    yield story("think-90-large-body", sockets(raw.think(90, 300000)), "server-think-time slow-start", rtt=40)
    yield story("think-120-over-wandering-path", sockets(raw.think(120)), "server-think-time", down={"jitter": ("uniform", 2)})
    yield story("hints-then-150", sockets(raw.early_hints(150)), "server-think-time", ms=150, party=("server", 150))
    yield story("hints-after-20-then-100-tls", sockets(raw.early_hints(100, first=20), tls={}), "server-think-time", SITE + "b600",
                ms=120)
    yield story("cache-miss-behind-varnish", both(sockets(raw.think(150, headers="Cache-Control: no-store\r\nX-Cache: MISS\r\n"),
                port=8090), lambda s: servers.varnish(s, 8090)), "cache-miss server-think-time")


def handshakes():
    for ms, rtt in ((80, 40), (200, 40), (60, 100)):
        yield story(f"slow-handshake-{ms}-over-{rtt}", sockets(raw.think(0), tls={}, before_tls=ms / 1e3), "slow-tls-server",
                    SITE + "b600", rtt=rtt, ms=ms)
    old = "TLSv1.2"
    yield story("tls12-nginx", nginx(protocols=old), "tls12-full-handshake", SITE + "b600", ms=40)
    yield story("tls12-nginx-over-120", nginx(protocols=old, h2=False), "tls12-full-handshake", SITE + "b600", rtt=120, ms=120)
    yield story("tls12-openssl", lambda s: servers.s_server(s, "-tls1_2"), "tls12-full-handshake", SITE + "b600", rtt=60, ms=60,
                settle=0.7)
    yield story("tls12-python", sockets(raw.think(0), tls={"versions": "1.2"}), "tls12-full-handshake", SITE + "b600", rtt=60, ms=60)
    yield story("hello-retry-python", sockets(raw.think(0), tls={"curve": "secp384r1"}), "hello-retry-request", SITE + "b600", ms=40)
    yield story("hello-retry-nginx", nginx(server="ssl_ecdh_curve secp384r1;"), "hello-retry-request", SITE + "b600", rtt=90, ms=90)
    yield story("hello-retry-openssl", lambda s: servers.s_server(s, "-groups", "P-384"), "hello-retry-request", SITE + "b600",
                rtt=50, ms=50, settle=0.7)
    yield story("hello-retry-nghttpd", lambda s: servers.nghttpd(s), "hello-retry-request", SITE + "b600", rtt=70, ms=70)
    yield story("chain-over-window", nginx(cert="large"), "server-flight-over-window", SITE + "b600", ms=40)
    yield story("chain-over-window-over-150", nginx(cert="huge", h2=False), "server-flight-over-window", SITE + "b600", rtt=150)


def losses():
    clear, whole = sockets(raw.think(0)), sockets(raw.think(0, 100000))
    yield story("syn-lost", clear, "syn-lost", rule=lose(UP, 1, which=syn), party=("loss", 1000))
    yield story("syn-lost-over-300", nginx(), "syn-lost", SITE + "b600", rtt=300, rule=lose(UP, 1, which=syn))
    yield story("syn-ack-lost", clear, "syn-lost", rule=lose(DOWN, 1, which=syn_ack), party=("loss", 1000))
    yield story("syn-ack-lost-nginx-h1-20k", nginx(h2=False), "syn-lost", SITE + "b20000", rule=lose(DOWN, 1, which=syn_ack))
    yield story("syn-ack-lost-python-tls", sockets(raw.think(0), tls={}), "syn-lost", SITE + "b600",
                rule=lose(DOWN, 1, which=syn_ack), party=("server", 0))
    for number in (1, 2):
        yield story(f"hello-segment-{number}-lost", nginx(), "segment-lost", SITE + "b600", rule=lose(UP, number))
    yield story("hello-segment-1-lost-over-100", nginx(h2=False), "segment-lost", SITE + "b600", rtt=100, rule=lose(UP, 1))
    for number in (1, 3, 5):
        yield story(f"server-flight-segment-{number}-lost", nginx(cert="medium"), "response-segment-lost", SITE + "b600",
                    rule=lose(DOWN, number))
    yield story("server-flight-last-lost", sockets(raw.think(0), tls={}), "response-segment-lost slow-tls-server", SITE + "b600",
                rule=lose(DOWN, 1))
    # A client cannot distinguish the loss of the only segment from the server's processing.
    yield story("answer-lost", clear, "response-segment-lost " + LATE, rule=lose(DOWN, 1))
    yield story("answer-lost-nginx-h1", nginx(h2=False), "response-segment-lost " + LATE, SITE + "b600",
                rule=after_request(1, 700, 1000))
    yield story("first-of-answer-lost", sockets(raw.think(0, 9000)), "response-segment-lost", rule=lose(DOWN, 1))
    for number in (3, 9, 30):
        yield story(f"body-segment-{number}-lost", whole, "response-segment-lost slow-start", CLEAR + "b100000", rule=lose(DOWN, number))
    yield story("body-middle-lost-short", sockets(raw.think(0, 12000)), "response-segment-lost", rule=lose(DOWN, 4))
    yield story("body-middle-lost-over-120-h2", nginx(), "response-segment-lost", SITE + "b9000", rtt=120,
                rule=after_request(3, 1000))
    yield story("body-tail-lost", sockets(raw.think(0, 8000)), "response-segment-lost", rule=lose(DOWN, 6))
    yield story("body-tail-lost-twice", sockets(raw.think(0, 8000)), "response-segment-lost", rule=lose(DOWN, 6, 7))
    yield story("body-tail-lost-h1-tls", sockets(raw.think(0, 9000), tls={}), "response-segment-lost", SITE + "b9000",
                rule=lambda: tail(9000))
    yield story("request-lost", clear, "segment-lost", rule=lose(UP, 1))
    yield story("request-lost-over-150", clear, "segment-lost", rtt=150, rule=lose(UP, 1))
    yield story("upload-segment-lost", nginx_upload(), "segment-lost upload-slow-start", SITE + "up", "-d @site/b60000",
                rule=lose(UP, 12))
    yield story("outage-in-body", whole, "response-segment-lost", CLEAR + "b100000", down={"outages": ((90, 400),)})


def tail(size):
    """The last segment of an answer of this size is lost once."""
    state = {"bytes": 0, "done": False}

    def rule(packet):
        if packet.way == DOWN and packet.has_data():
            state["bytes"] += len(packet.payload)
            # The handshake is under 2 kB here.
            if not state["done"] and state["bytes"] > size + 600 and len(packet.payload) < 1448:
                state["done"] = True
                return DROP
        return None
    return rule


def nagle():
    kept = "--reuse --http1.1"
    plain = {"nodelay": False}
    yield story("nagle-new-over-40", sockets(raw.two_writes(), **plain), "nagle-delayed-ack", ms=40)
    yield story("nagle-new-over-100", sockets(raw.two_writes(), **plain), "nagle-delayed-ack", rtt=100, ms=100)
    yield story("nagle-new-tls-over-60", sockets(raw.two_writes(), tls={"tickets": 0}, **plain), "nagle-delayed-ack", SITE + "b600",
                rtt=60)
    yield story("nagle-python-http-tls", lambda s: servers.python_http(s, tuned=False), "nagle-delayed-ack", SITE + "b600", ms=80)
    yield story("nagle-python-http", lambda s: servers.python_http(s, False, False), "nagle-delayed-ack", CLEAR + "b600", rtt=70,
                ms=70)
    yield story("nagle-python-http-kept-over-2", lambda s: servers.python_http(s, False, False), "nagle-delayed-ack",
                CLEAR + "b600", kept, rtt=2, ms=42)
    for rtt in (1, 3, 10, 40):
        yield story(f"nagle-kept-over-{rtt}", sockets(raw.two_writes(), **plain), "nagle-delayed-ack", args=kept, rtt=rtt, ms=40 + rtt)
    yield story("nagle-kept-tls-over-2", sockets(raw.two_writes(), tls={}, **plain), "nagle-delayed-ack", SITE + "b600", kept, rtt=2,
                ms=42)
    yield story("think-42-kept-is-no-nagle", sockets(raw.think(42)), LATE, args=kept, rtt=2, ms=42)
    yield story("think-82-kept-is-no-nagle", sockets(raw.think(82)), "server-think-time", args=kept, rtt=40, ms=82)


def bodies():
    for before, count, ms, each in ((4000, 1, 300, 4000), (2000, 3, 120, 2000), (9000, 5, 80, 1000), (600, 2, 500, 600)):
        yield story(f"stalls-{count}-of-{ms}", sockets(raw.stalls(before, count, ms, each)), BODY, ms=count * ms,
                    party=("server", count * ms))
    yield story("stall-over-200", sockets(raw.stalls(5000, 1, 400, 3000)), BODY, rtt=200, ms=400)
    yield story("stalls-with-full-windows", sockets(raw.stalls(13000, 3, 150, 14480)), BODY, party=("server", 450))
    yield story("stalls-behind-nginx-h2", behind(raw.stalls(3000, 2, 200, 3000)), BODY, SITE + "b6", ms=400)
    yield story("stalls-behind-nginx-h1", behind(raw.stalls(3000, 2, 200, 3000), h2=False), BODY, SITE + "b6", ms=400)
    yield story("stalls-tls-python", sockets(raw.stalls(3000, 1, 250, 3000), tls={}), BODY, SITE + "b6", ms=250)
    for tls in (False, True):
        yield story(f"limit-rate-100k-{'h2' if tls else 'clear'}", nginx(tls=tls, location="limit_rate 100k;"), BODY,
                    (SITE if tls else CLEAR) + "b150000")
    yield story("limit-rate-200k-h1", nginx(h2=False, location="limit_rate 200k;"), BODY, SITE + "b300000")
    yield story("paced-2k-each-20", sockets(raw.stalls(2000, 25, 20, 2000)), BODY, ms=500)
    yield story("paced-1k-each-10-over-10", sockets(raw.stalls(1000, 60, 10, 1000)), BODY, rtt=10)
    yield story("trickle-5-of-100", sockets(raw.trickle(6, 100, 50)), BODY, ms=500)
    yield story("trickle-20-of-30-behind-nginx", behind(raw.trickle(21, 30, 200)), BODY, SITE + "b6")


def links():
    for rate, size in ((1, 60000), (1, 100000), (5, 300000), (5, 500000), (20, 2000000)):
        for tls in (False, True):
            yield story(f"downlink-{rate}-mbit-{size // 1000}k-{'h2' if tls else 'clear'}", nginx(tls=tls), "slow-downlink",
                        (SITE if tls else CLEAR) + f"b{size}", down={"rate": rate, "queue": 1500}, seconds=15,
                        rtt=30 if rate != 20 else 10)
    yield story("downlink-5-mbit-bbr", nginx(h2=False), "slow-downlink", SITE + "b500000", down={"rate": 5, "queue": 300},
                stage={"control": "bbr"})
    for rate, size in ((1, 100000), (5, 300000), (0.5, 60000)):
        yield story(f"uplink-{rate}-mbit-{size // 1000}k", nginx_upload(), "slow-uplink", SITE + "up",
                    f"-d @site/b{size}", up={"rate": rate, "queue": 3000})


def nginx_upload():
    """nginx that passes uploads to a raw server."""
    return behind(raw.think(0))


def windows():
    tiny = (("net.ipv4.tcp_rmem", "4096 4096 4096"),)
    small = (("net.ipv4.tcp_rmem", "4096 16384 16384"),)
    for name, memory, rtt, size in (("tiny", tiny, 20, 60000), ("small", small, 40, 100000), ("small", small, 100, 150000)):
        yield story(f"client-window-{name}-over-{rtt}", nginx(tls=False), "receive-window", CLEAR + f"b{size}", rtt=rtt,
                    stage={"near": memory})
    yield story("client-window-small-h2", nginx(), "receive-window", SITE + "b100000", stage={"near": small})
    for control in ("cubic", "reno", "bbr"):
        at = {"control": control, "far": (("net.ipv4.tcp_wmem", "4096 6000 6000"),)}
        pieces = {"location": "sendfile off; output_buffers 1 4k;"}
        yield story(f"server-send-buffer-clear-{control}", nginx(tls=False, **pieces), "send-window", CLEAR + "b60000", stage=at)
        yield story(f"server-send-buffer-tls-{control}", nginx(h2=False, server="ssl_buffer_size 4k;", **pieces), "send-window",
                    SITE + "b60000", rtt=70, stage=at)
    for control in ("cubic", "reno", "bbr"):
        at = {"control": control}
        yield story(f"slow-start-60k-clear-{control}", nginx(tls=False), "slow-start", CLEAR + "b60000", rtt=80, stage=at)
        yield story(f"slow-start-300k-h2-{control}", nginx(), SLOW, SITE + "b300000", rtt=90, stage=at)
        yield story(f"slow-start-60k-h1-{control}", nginx(h2=False), SLOW, SITE + "b60000", rtt=90, stage=at)
        yield story(f"slow-start-1000k-h2-{control}", nginx(), SLOW, SITE + "b1000000", rtt=60, stage=at)
        yield story(f"record-over-window-20k-{control}", nginx(h2=False), SLOW, SITE + "b20000", stage=at, ms=40,
                    party=("network", 160))
    yield story("slow-start-20k-clear-reno", nginx(tls=False), "slow-start", CLEAR + "b20000", rtt=70, rounds=1, ms=70,
                stage={"control": "reno"})
    yield story("slow-start-100k-clear-reno", nginx(tls=False), "slow-start", CLEAR + "b100000", rtt=70, rounds=3, ms=210,
                stage={"control": "reno"})
    yield story("slow-start-200k-apache", lambda s: servers.apache(s), SLOW, SITE + "b200000", rtt=70)
    yield story("slow-start-200k-caddy", lambda s: servers.caddy(s), SLOW, SITE + "b200000", rtt=70)
    yield story("slow-start-200k-node-h2", lambda s: servers.node(s, "http2"), SLOW, SITE + "b200000", rtt=70)
    yield story("slow-start-100k-python", lambda s: servers.python_http(s), SLOW, SITE + "b100000", rtt=70)


def connections():
    http = sockets(raw.think(0))
    yield story("dead-ipv6", nginx(), "dead-address", SITE + "b600", resolve="site.test:443:[fd09::99],10.9.0.1", ms=250)
    yield story("dead-ipv4-first", nginx(), "dead-address", SITE + "b600", resolve="site.test:443:10.9.0.99,10.9.0.1", ms=250)

    def second(stage):
        stage.far_address("10.9.0.5")
        servers.nginx(stage, tls=False, address="10.9.0.1")
    yield story("refused-address", second, "address-refused", resolve="site.test:80:10.9.0.5,10.9.0.1", ms=40)
    yield story("refused-address-over-150", second, "address-refused", resolve="site.test:80:10.9.0.5,10.9.0.1", rtt=150, ms=150)
    yield story("refused-port", lambda s: None, "", url="http://site.test:81/", resolve="site.test:81:10.9.0.1", fail="refused", party=("loss", 0))
    yield story("silent-address", lambda s: None, "", resolve="site.test:80:10.9.0.99", args="--connect-timeout 3",
                fail="connect-timeout")
    yield story("slow-first-packet-120", http, "slow-first-packet", rule=nth(UP, syn, 1, verdict=("late", 0.12)), ms=120)


def detours():
    yield story("redirect-same-origin", sockets(raw.redirect("/b600")), "redirect", CLEAR + "from", "-L", ms=40)
    yield story("redirect-over-130", sockets(raw.redirect("/b600")), "redirect", CLEAR + "from", "-L", rtt=130, ms=130)
    yield story("redirect-to-https", both(sockets(raw.redirect(SITE + "b600")), nginx()), "redirect-to-https redirect",
                CLEAR + "from", "-L")
    yield story("expect-continue", sockets(raw.expecting(True)), "expect-continue", CLEAR + "up",
                "-H Expect:100-continue -d @site/b100", ms=40)
    yield story("expect-ignored", sockets(raw.expecting(False)), "expect-ignored", CLEAR + "up",
                "-H Expect:100-continue -d @site/b100", ms=1000)


def ends():
    yield story("reset-in-body", sockets(raw.steps(4000, ("wait", 120), ("reset",), size=9000)), "", fail="reset body-reset connection-reset")
    yield story("reset-in-body-tls", sockets(raw.steps(4000, ("wait", 120), ("reset",), size=9000), tls={}), "", SITE + "b6",
                fail="reset body-reset connection-reset")
    yield story("close-in-body", sockets(raw.steps(4000, ("wait", 120), ("close",), size=9000)), "", fail="body-cut-short")
    yield story("close-before-answer", sockets(lambda talk: bool(talk.request()) and False), "", fail="closed closed-early no-answer empty")
    yield story("reset-before-answer", sockets(raw.steps(("reset",))), "", fail="reset body-reset connection-reset")
    yield story("server-says-no-tls", sockets(raw.blurt, port=443), "", SITE + "b6", fail="tls-failed not-tls")
    yield story("certificate-of-another-name", nginx(), "", "https://wrong.test/", resolve="wrong.test:443:10.9.0.1",
                fail="certificate-wrong-name")
    yield story("answer-never-comes", sockets(raw.think(60000)), "", args="--max-time 2", fail="timeout")


def paths():
    probing = {"near": (("net.ipv4.tcp_mtu_probing", 1),), "far": (("net.ipv4.tcp_mtu_probing", 1),)}
    yield story("hole-down-probing", nginx(tls=False), "mtu-black-hole", CLEAR + "b9000", down={"hole": 1400}, stage=probing, seconds=25)
    yield story("hole-down-tls-probing", nginx(cert="medium"), "mtu-black-hole", SITE + "b600", down={"hole": 1400}, stage=probing,
                seconds=25)
    yield story("hole-down-for-ever", nginx(cert="medium"), "mtu-black-hole", SITE + "b600", "--max-time 4", down={"hole": 1400},
                fail="timeout")
    yield story("hole-up-probing", nginx_upload(), "mtu-black-hole", SITE + "up", "-d @site/b20000", up={"hole": 1400},
                stage=probing, seconds=25)
    yield story("hole-up-for-ever", nginx(), "mtu-black-hole large-hello-lost", SITE + "b600", "--max-time 4", up={"hole": 1400},
                fail="timeout")
    yield story("longer-after-handshake", nginx(), "path-varies", SITE + "b600", down={"shift": ((85, 60),)})
    yield story("longer-after-handshake-clear", nginx(tls=False), "path-varies late-answer", down={"shift": ((30, 80),)})
    for mean in (8, 20):
        yield story(f"wandering-{mean}", nginx(), "path-varies", SITE + "b600", up={"jitter": ("exponential", mean)},
                    down={"jitter": ("exponential", mean)})


def clients():
    yield story("quota-10-of-100", nginx(h2=False), "cpu-throttled", SITE + "b600", rtt=20, around=quota(10))
    yield story("quota-5-of-50-h2", nginx(), "cpu-throttled", SITE + "b9000", rtt=10, around=quota(5, 50))
    yield story("stopped-in-handshake", nginx(), "client-starved", SITE + "b600", rtt=200, around=stopped(300, 600))
    yield story("stopped-in-wait", sockets(raw.think(0)), "client-starved", rtt=200, around=stopped(280, 600))
    yield story("stopped-in-body", nginx(tls=False, location="limit_rate 60k;"), "client-starved " + BODY, CLEAR + "b60000",
                around=stopped(400, 900))
    yield story("nice-19-beside-loops", nginx(), "client-starved", SITE + "b300000", around=crowded(4))
    yield story("nice-19-beside-loops-h1", nginx(h2=False), "client-starved", SITE + "b600", around=crowded(8))

    def fifo(start):
        def begin(stage):
            os.mkfifo(stage.dir / "out")
            start(stage)
        return begin
    yield story("slow-output-300k", fifo(nginx()), "slow-output", SITE + "b300000", "-o out", rtt=20, around=slow_reader(16384, 40))
    yield story("slow-output-1000k-clear", fifo(nginx(tls=False)), "slow-output", CLEAR + "b1000000", "-o out", rtt=5,
                around=slow_reader(65536, 60))


def names():
    site = {"site.test": ["10.9.0.1"], "www.corp.test": ["10.9.0.1"], "alias.test": "b.alias.test", "b.alias.test": "c.alias.test",
            "c.alias.test": "site.test"}
    http = sockets(raw.think(0))

    def case(name, want, args=None, url=CLEAR + "b600", **more):
        keys = ("delay", "drop_type", "rcode", "truncate", "resolv")
        server = {key: more.pop(key) for key in keys if key in more}
        return story(name, with_names(site, http, **server), want, url, resolve="", **more)
    yield case("name-server-slow-150", "slow-name-lookup", delay=lambda name, kind: 150, ms=190)
    yield case("name-server-slow-600", "slow-name-lookup", delay=lambda name, kind: 600, rtt=10)
    yield case("name-question-lost", "dns-query-unanswered", resolv="nameserver 10.9.0.1\noptions timeout:1\n",
               rule=nth(UP, lambda p: p.dport == 53, 1, 2))
    yield case("name-no-aaaa-answer", "dns-one-family-unanswered", drop_type=28, resolv="nameserver 10.9.0.1\noptions timeout:1\n")
    yield case("name-first-server-dead", "dns-query-unanswered",
               resolv="nameserver 10.9.0.99\nnameserver 10.9.0.1\noptions timeout:1\n")
    yield case("name-does-not-exist", "", url="http://nothing.test/", fail="name dns name_not_found nxdomain no-such-name")
    yield case("name-servfail", "", rcode=2, fail="resolver-failed")
    yield case("name-search-list", "search-list", url="http://www/", resolv="search a.test b.test corp.test\nnameserver 10.9.0.1\n",
               ms=80)
    yield case("name-truncated", "dns-over-tcp", truncate=True, ms=80)
    yield case("name-aliases-are-one-answer", "slow-name-lookup", url="http://alias.test/", rtt=150)


def proxies():
    through = "-x http://10.9.0.1:%d"
    yield story("proxy-squid", both(nginx(), servers.squid), "proxy-connect", SITE + "b600", through % 3128, rtt=60)
    yield story("proxy-tinyproxy", both(nginx(), servers.tinyproxy), "proxy-connect nagle-delayed-ack", "https://10.9.0.1/b600", "-k " + through % 8888,
                rtt=60)
    yield story("proxy-raw-quick", both(nginx(), sockets(raw.connect_proxy(0), port=3129)), "proxy-connect", SITE + "b600",
                through % 3129, rtt=60, ms=60)
    yield story("proxy-raw-slow-200", both(nginx(), sockets(raw.connect_proxy(200), port=3129)), "proxy-connect", SITE + "b600",
                through % 3129, ms=240)


def large_head(start):
    def begin(stage):
        (stage.dir / "head").write_text("Cookie: session=" + "c" * 22000 + "\n")
        start(stage)
    return begin


def uploads():
    yield story("upload-slow-start-300k", nginx_upload(), "upload-slow-start", SITE + "up", "-d @site/b300000", rtt=80)
    yield story("upload-slow-start-100k-clear", sockets(raw.think(0)), "upload-slow-start", CLEAR + "up",
                "-d @site/b100000", rtt=80)
    yield story("upload-server-does-not-read", sockets(raw.slow_reader(500), receive=16384), "upload-window",
                CLEAR + "up", "-d @site/b300000", rtt=20)
    yield story("upload-small-buffer-that-reads", sockets(raw.think(0)), "receive-window upload-window",
                CLEAR + "up", "-d @site/b300000", stage={"far": (("net.ipv4.tcp_rmem", "4096 16384 16384"),)})
    yield story("head-over-window", large_head(sockets(raw.think(0))), "request-over-window", args="-H @head", ms=40)
    yield story("head-over-window-over-110", large_head(sockets(raw.think(0), tls={})), "request-over-window", SITE + "b600",
                "--http1.1 -H @head", rtt=110, ms=110)
    yield story("upload-nghttpd-window", lambda s: servers.nghttpd(s), "h2-upload-window upload-slow-start",
                SITE + "b600", "-d @site/b300000", rtt=80)


def kept():
    yield story("kept-not", sockets(raw.closing()), "no-keep-alive", args="--reuse --http1.1")
    yield story("kept-closed-by-the-request", sockets(raw.leaving), "reuse-race", args="--reuse --http1.1", ms=80)
    yield story("no-ticket", nginx(h2=False, protocols="TLSv1.2", server="ssl_session_tickets off; ssl_session_cache off;"),
                "no-ticket tls12-full-handshake",
                SITE + "b600", "--resume")
    yield story("ticket-forgotten", nginx(h2=False, protocols="TLSv1.2", server="ssl_session_cache none; ssl_session_tickets off;"),
                "ticket-refused no-ticket tls12-full-handshake", SITE + "b600", "--resume")
    yield story("one-segment-30-late", nginx(tls=False), "path-varies late-answer",
                rule=nth(DOWN, data, 1, verdict=("late", 0.03)))


def quic():
    def datagram(packet):
        return packet.proto == 17

    def large(packet):
        return packet.proto == 17 and packet.size > 1000
    three = "--http3"
    yield story("h3-hello-lost", servers.ngtcp2, "quic-handshake-loss", SITE + "b600", three, rule=lose(UP, 1, 2, which=datagram))
    yield story("h3-server-flight-lost", servers.ngtcp2, "quic-handshake-loss", SITE + "b600", three,
                rule=lose(DOWN, 1, 2, 3, which=datagram))
    # The first datagram with a short header carries the request.
    yield story("h3-request-lost", servers.ngtcp2, "quic-request-loss segment-lost", SITE + "b600", three,
                rule=lose(UP, 1, which=lambda p: datagram(p) and not p.payload[0] & 0x80))
    yield story("h3-body-datagrams-lost", servers.ngtcp2, "quic-response-loss response-segment-lost", SITE + "b100000", three,
                rule=lose(DOWN, 12, 20, 33, which=large))
    yield story("h3-closed-port", lambda s: None, "", "https://site.test:444/", "--http3 --max-time 4",
                resolve="site.test:444:10.9.0.1", fail="refused")
    yield story("h3-udp-blocked", servers.ngtcp2, "", SITE + "b600", "--http3 --max-time 4",
                rule=every(UP, datagram, 1, DROP), fail="connect-timeout timeout")
    yield story("h3-slow-start-300k", servers.ngtcp2, "slow-start", SITE + "b300000", three, rtt=80)
    yield story("h3-downlink-5-mbit", servers.ngtcp2, "slow-downlink", SITE + "b500000", three, rtt=30, down={"rate": 5, "queue": 1500})
