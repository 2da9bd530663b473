"""Ordinary situations that the other files lack: a CDN's first window, streams of events, a stapled answer
about a certificate, client certificates, early data that is refused, proxies, a name server of a home
router, HTTP/3 over a path that reorders, the kernel's own emulator."""

import functools
import os
import socket
import subprocess
import time

import app_servers
import more_servers
import raw
import servers
from case import CLEAR, SITE, anything, both, crowded, every, healthy, sockets, story, with_names
from relay import DOWN, UP
from stories import BODY, LATE, SLOW, behind, nginx

VARIES = "path-varies"
LOST = VARIES + " segment-lost response-segment-lost syn-lost quic-handshake-loss quic-request-loss quic-response-loss"
# A socket's option of Linux: bytes a second (socket(7)).
SO_MAX_PACING_RATE = 47


def all():
    return [*windows(), *streams(), *hints(), *certificates(), *early_data(), *proxies(), *families(), *names(), *kept(),
            *ends(), *quic(), *emulators(), *mixtures()]


def route(start, words):
    """The far end's route has these attributes, such as a first window."""

    def begin(stage):
        with stage.at_far():
            attributes = f"dev far src 10.9.0.1 congctl cubic {words}"
            subprocess.run(["ip", "route", "change", "10.9.0.0/24", *attributes.split()], check=True)
        start(stage)

    return begin


def windows():
    for h2 in (True, False):
        name = "h2" if h2 else "h1"
        yield healthy(f"first-window-32-30k-{name}", route(nginx(h2=h2), "initcwnd 32"), SITE + "b30000", rtt=70)
    yield healthy("first-window-32-30k-clear", route(nginx(tls=False), "initcwnd 32"), CLEAR + "b30000", rtt=70)
    yield story("first-window-32-150k", route(nginx(), "initcwnd 32"), SLOW, SITE + "b150000", rtt=70)
    yield story("first-window-2-9k", route(nginx(tls=False), "initcwnd 2"), SLOW, CLEAR + "b9000", rtt=60)
    yield story("first-window-3-20k", route(nginx(), "initcwnd 3"), SLOW, SITE + "b20000", rtt=60)
    yield healthy("segments-1220-9k", route(nginx(), "advmss 1220"), SITE + "b9000", rtt=60)
    yield story("segments-1220-20k", route(nginx(tls=False), "advmss 1220"), SLOW, CLEAR + "b20000", rtt=60)
    yield story("paced-150k-a-second", sockets(paced(150_000, 100_000)), "slow-downlink " + BODY, rtt=30)
    yield story("head-of-20k", sockets(raw.think(0, headers="Set-Cookie: a=" + "c" * 20000 + "\r\n")), SLOW, rtt=60)
    yield healthy("gzip-on-the-fly", nginx(also="gzip on; gzip_min_length 1;"), SITE + "b9000", "--compressed", rtt=60)


def paced(rate, size):
    """The server's kernel spaces the segments, as those of streaming services do."""

    def tell(talk):
        talk.sock.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, rate)
        return raw.think(0, size)(talk)

    return tell


def events(count, ms):
    """Server-sent events: the client asked for the pauses."""

    def tell(talk):
        if talk.request() is None:
            return False
        fields = b"Content-Type: text/event-stream\r\nCache-Control: no-store\r\nTransfer-Encoding: chunked\r\n"
        talk.send(b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n")
        for number in range(count):
            time.sleep(ms / 1e3 if number else 0)
            data = b"data: %d\n\n" % number
            talk.send(b"%x\r\n%s\r\n" % (len(data), data))
        talk.send(b"0\r\n\r\n")

    return tell


def streams():
    for ms in (35, 130, 400):
        yield healthy(f"events-{ms}-clear", sockets(events(5, ms)), CLEAR + "b6")
        yield healthy(f"events-{ms}-nginx-h2", behind(events(5, ms)), SITE + "b6")
    yield healthy("events-130-nginx-h1", behind(events(5, 130), h2=False), SITE + "b6")


NODE = """
const fs = require('fs'), http2 = require('http2');
const [pki, what, think] = process.argv.slice(2);
const options = {key: fs.readFileSync(pki + '/key.pem'), cert: fs.readFileSync(pki + '/leaf.pem'), allowHTTP1: true};
http2.createSecureServer(options, (q, a) => {
  const body = fs.readFileSync(pki + '/site' + q.url);
  if (what === 'hints') a.writeEarlyHints({link: '</a.css>; rel=preload'});
  if (what === 'head') { a.writeHead(200, {'content-length': body.length}); a.flushHeaders(); }
  const rest = () => {
    if (what === 'hints') a.writeHead(200, {'content-length': body.length});
    a.end(body);
  };
  Number(think) ? setTimeout(rest, Number(think)) : rest();
}).listen(443);
"""


def node(what, think):
    def begin(stage):
        script = stage.dir / "situation.js"
        script.write_text(NODE)
        stage.serve("node", str(script), str(stage.pki), what, str(think), port=443)

    return begin


def hints():
    for way in ("--http2", "--http1.1"):
        name = way.strip("-").replace(".", "")
        # Over HTTP/1.1, this server has Nagle's algorithm on.
        made = healthy if name == "http2" else functools.partial(story, want="nagle-delayed-ack", url=SITE + "b600")
        yield made(f"hints-node-{name}", node("hints", 0), args=way)
        yield story(f"hints-then-150-node-{name}", node("hints", 150), "server-think-time", SITE + "b600", way, ms=150,
                    party=("server", 150))
        yield story(f"head-then-170-node-{name}", node("head", 170), BODY, SITE + "b600", way, ms=170, party=("server", 170))


def stapled(**more):
    """nginx with an answer about its certificate that the CA has signed."""

    def begin(stage):
        def openssl(*words):
            return subprocess.run(["openssl", *words], cwd=stage.dir, check=True, capture_output=True, text=True).stdout

        leaf, ca = str(stage.pki / "leaf.pem"), str(stage.pki / "ca.pem")
        serial = openssl("x509", "-in", leaf, "-noout", "-serial").strip().split("=")[1]
        (stage.dir / "index.txt").write_text(f"V\t391231235959Z\t\t{serial}\tunknown\t/CN=site.test\n")
        openssl("ocsp", "-index", "index.txt", "-CA", ca, "-rsigner", ca, "-rkey", str(stage.pki / "ca.key"), "-issuer", ca,
                "-cert", leaf, "-respout", "staple.der", "-ndays", "7")
        servers.nginx(stage, server=f"ssl_stapling on; ssl_stapling_file {stage.dir}/staple.der;", **more)

    return begin


def asking(**more):
    """nginx that asks for a client certificate."""

    def begin(stage):
        for name in ("leaf.pem", "key.pem"):
            (stage.dir / name).symlink_to(stage.pki / name)
        servers.nginx(stage, server=f"ssl_client_certificate {stage.pki}/ca.pem; ssl_verify_client on;", **more)

    return begin


def certificates():
    old = "TLSv1.2"
    yield healthy("stapled", stapled(), rtt=60)
    yield story("stapled-tls12", stapled(protocols=old), "tls12-full-handshake", SITE + "b600", rtt=60, ms=60)
    mine = "--cert leaf.pem --key key.pem"
    yield healthy("client-certificate", asking(), args=mine, rtt=60)
    yield healthy("client-certificate-h1-kept", asking(h2=False), args=mine + " --reuse", rtt=60)
    yield story("client-certificate-tls12", asking(protocols=old), "tls12-full-handshake", SITE + "b600", mine, rtt=60, ms=60)


def by_turns(stage):
    """Two servers with one ticket key behind one address; only the first accepts early data."""
    key = stage.dir / "ticket.key"
    key.write_bytes(os.urandom(80))
    key.chmod(0o644)
    for port, may in ((8441, "on"), (8442, "off")):
        servers.nginx(stage, port=port, server=f"ssl_session_ticket_key {key}; ssl_early_data {may};")
    servers.haproxy_with(stage, "tcp", """
global
  nbthread 1
frontend f
  bind :::443 v4v6
  default_backend b
backend b
  balance roundrobin
  server one 127.0.0.1:8441
  server two 127.0.0.1:8442
""")


def too_early(talk):
    text = talk.request()
    if text is None:
        return False
    early = b"early-data: 1" in text.lower()
    talk.send(raw.answer(0, status="425 Too Early") if early else raw.answer())
    return None


def early_data():
    yield story("early-data-refused-by-the-other", by_turns, "early-data-refused", SITE + "b600", "--early-data", rtt=60, ms=60)
    passing = "proxy_set_header Early-Data $ssl_early_data;"
    yield healthy("early-data", behind(raw.think(0), server="ssl_early_data on;", location=passing), args="--early-data", rtt=60)
    yield story("early-data-425", behind(too_early, server="ssl_early_data on;", location=passing), "too-early", SITE + "b600",
                "--early-data", rtt=60, ms=60)


def proxies():
    squid = "-x http://10.9.0.1:3128"
    yield healthy("proxy-squid-clear", both(nginx(tls=False), servers.squid), CLEAR + "b600", squid, rtt=60)
    yield story("proxy-squid-clear-think-140", both(sockets(raw.think(140)), servers.squid), "server-think-time", CLEAR + "b600",
                squid, rtt=60)
    tls = "-k -x https://site.test:443"
    yield story("proxy-over-tls", both(nginx(port=4433), servers.tinyproxy, lambda s: servers.hitch(s, 8888)),
                "proxy-connect nagle-delayed-ack", "https://10.9.0.1:4433/b600", tls, rtt=60)


def families():
    def slower(ms):
        return lambda: lambda p: ("late", ms / 1e3) if p.v6 and p.way == UP else None

    either = "site.test:443:[fd09::1],10.9.0.1"
    yield healthy("ipv6-60-slower", nginx(), rule=slower(60), resolve=either)
    yield healthy("ipv6-180-slower", nginx(), rule=slower(180), resolve=either)
    yield story("ipv6-500-slower", nginx(), "dead-address", SITE + "b600", rule=slower(500), resolve=either, ms=250)


def names():
    site = {"site.test": ["10.9.0.1"]}
    http = sockets(raw.think(0))
    resolv = "search a.test b.test\noptions ndots:5\nnameserver 10.9.0.1\n"
    yield healthy("name-ends-with-a-dot", with_names(site, http, resolv=resolv), "http://site.test./b600", resolve="", rtt=5)
    yield story("name-has-too-few-dots", with_names(site, http, resolv=resolv), "search-list", resolve="", rtt=30, ms=60)
    yield story("name-https-record-dropped", with_names(site, nginx(), drop_type=65), "https-record-late", SITE + "b600",
                resolve="", rtt=5)


def kept():
    reuse = "--reuse --http1.1 "
    yield story("idle-and-a-window-again", nginx(tls=False), "slow-start-after-idle slow-start", CLEAR + "b100000",
                reuse + "-c 2 -i 1.2", rtt=80)
    yield story("closed-while-idle", nginx(h2=False, server="keepalive_timeout 1s;"), "idle-connection-closed", SITE + "b600",
                reuse + "-c 2 -i 1.6")
    yield story("goodbye-after-each", nginx(server="keepalive_requests 1;"), "no-keep-alive", SITE + "b600",
                "--http2 --reuse -c 2 -i 0.2")
    yield story("limited-requests", nginx(also="limit_req_zone $server_name zone=z:1m rate=3r/s;", location="limit_req zone=z burst=9;"),
                "server-think-time", SITE + "b600", "--reuse", rtt=30, settle=0.7)


def until_close(ms):
    """HTTP/1.0: the end of the connection ends the body, after a while."""

    def tell(talk):
        if talk.request() is None:
            return False
        talk.send(raw.head(None, "Connection: close\r\n") + b"x" * 600)
        time.sleep(ms / 1e3)
        return False

    return tell


def answers_early(talk):
    """The answer does not wait for the upload."""
    if talk.request(body=False) is None:
        return False
    talk.send(raw.answer())
    talk.body()
    return None


def ends():
    yield healthy("ends-with-the-connection", sockets(until_close(0)), CLEAR + "b6")
    yield story("ends-420-late", sockets(until_close(420)), BODY, ms=420, party=("server", 420))
    yield story("ends-130-late-tls", sockets(until_close(130), tls={}), BODY, SITE + "b6", ms=130, party=("server", 130))
    yield healthy("no-content", sockets(lambda talk: talk.request() is not None and talk.send(raw.answer(0, status="204 No Content"))),
                  CLEAR + "b6")
    yield healthy("head-only", nginx(), SITE + "b60000", "-I")
    yield healthy("answers-before-the-upload", sockets(answers_early), CLEAR + "up", "-d @site/b9000", rtt=60)


def quic():
    three = "--http3"
    yield healthy("h3-mtu-1280", servers.ngtcp2, SITE + "b5000", three, stage={"mtu": 1280}, rtt=55)
    way = {"late": (0.3, 10)}
    # ngtcp2 answers a ClientHello whose parts come in another order with a Retry.
    allow = VARIES + " quic-retry"
    yield healthy("h3-reordered-10", servers.ngtcp2, SITE + "b9000", three, up=way, down=way, allow=allow, rtt=55)
    yield healthy("h3-reordered-10-count", servers.ngtcp2, SITE + "b5000", three + " -c 6 -i 0.02", up=way, down=way, allow=allow)
    yield healthy("h3-duplicates", servers.ngtcp2, SITE + "b9000", three, rule=every(DOWN, anything, 0.5, ("copy", 2)))
    yield healthy("h3-kept", servers.ngtcp2, SITE + "b5000", three + " --reuse", rtt=55)
    yield healthy("h3-early-data", servers.ngtcp2, SITE + "b600", three + " --early-data", rtt=55)

    def bbr(stage):
        words = f"-q --cc=bbr -d {stage.pki}/site * 443 {stage.pki}/key.pem {stage.pki}/leaf.pem"
        stage.serve("gtlsserver", *words.split(), port=443)

    yield story("h3-slow-start-150k-bbr", bbr, "slow-start", SITE + "b150000", three, rtt=70)


def netem(start, words):
    """The kernel's emulator behind the server."""

    def begin(stage):
        start(stage)
        with stage.at_far():
            done = subprocess.run(["tc", *f"qdisc replace dev far root netem {words}".split()], capture_output=True)
        if done.returncode:
            raise FileNotFoundError(2, "not in this kernel", "netem")

    return begin


def emulators():
    yield healthy("netem-25-6", netem(nginx(), "delay 25ms 6ms distribution normal"), rtt=10, allow=VARIES)
    yield healthy("netem-25-6-9k", netem(nginx(h2=False), "delay 25ms 6ms distribution normal"), SITE + "b9000", rtt=10, allow=VARIES)
    yield healthy("netem-pareto-count", netem(nginx(), "delay 20ms 5ms distribution pareto"), args="-c 8 -i 0.02", rtt=10,
                  allow=VARIES, seconds=25)
    yield healthy("netem-slots", netem(nginx(), "delay 10ms slot 8ms 16ms"), args="-c 6 -i 0.02", rtt=20, allow=VARIES)
    yield healthy("bucket-40-mbit", more_servers.kernel_bucket(nginx(), "40mbit", "30kb"), SITE + "b9000", rtt=30)


def mixtures():
    """Several properties of one radio path at once."""
    lte = {"up": {"grant": 8, "jitter": ("exponential", 3)}, "down": {"jitter": ("exponential", 4), "rate": 30}}
    dish = {"up": {"grant": 4, "jitter": ("uniform", 5)}, "down": {"jitter": ("uniform", 6), "burst": (0.004, 2)}}
    for name, ways, allow in (("lte", lte, VARIES), ("dish", dish, LOST)):
        for server, start, more in (("nginx", nginx(), ""), ("clear", nginx(tls=False), ""), ("h3", servers.ngtcp2, "--http3 ")):
            url = (CLEAR if server == "clear" else SITE) + "b5000"
            yield healthy(f"{name}-{server}", start, url, more, allow=allow, rtt=45, **ways)
            yield healthy(f"{name}-{server}-count", start, url, more + "-c 8 -i 0.03", allow=allow, rtt=45, seconds=30, **ways)
    for ms in (40, 60):
        yield story(f"think-as-long-as-a-trip-{ms}-h2", behind(raw.think(ms)), LATE, SITE + "b600", rtt=ms, ms=ms)
        yield story(f"think-as-long-as-a-trip-{ms}-tls", sockets(raw.think(ms), tls={}), LATE, SITE + "b600", rtt=ms, ms=ms)
    # A cache keeps the header of the answer that it stores.
    old = "Server-Timing: app;dur=900, db;dur=400\r\n"
    way = {"jitter": ("exponential", 12)}
    yield healthy("timing-of-another-answer", sockets(raw.think(0, headers=old)), CLEAR + "b6", up=way, down=way, allow=VARIES)
    yield healthy("timing-of-another-answer-count", sockets(raw.think(0, headers=old)), CLEAR + "b6", "-c 8 -i 0.02", up=way,
                  down=way, allow=VARIES, seconds=25)
    parts = "Server-Timing: total;dur=119, app;dur=118, db;dur=80\r\n"
    yield story("timing-of-parts", sockets(raw.think(120, headers=parts)), "server-think-time", rtt=35, ms=120)
    # Small records look like the small segments behind a hole in the path.
    yield story("think-1300-go-9k", lambda s: app_servers.go(s, 1300), "server-think-time", SITE + "b9000", rtt=35, ms=1300)
    small = {"h2": False, "server": "ssl_buffer_size 1k;"}
    yield story("think-1100-records-of-1k", behind(raw.think(1100, 9000), **small), "server-think-time", SITE + "b6", rtt=35,
                ms=1100)
    yield story("think-1200-node-9k", lambda s: servers.node(s, "http2", 1200), "server-think-time", SITE + "b9000", rtt=35,
                ms=1200)
    yield healthy("beside-one-loop", nginx(), around=crowded(1))
    yield healthy("beside-two-loops-count", nginx(), args="-c 5 -i 0.02", around=crowded(2), seconds=25)
