"""Servers of scripts and of one thread, a name server, limits of rates, and HTTP/3 of two makers."""

import os
import shutil
import subprocess
import time

import servers
from servers import PYTHON

AIOQUIC = """
import asyncio, sys
from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated
pki, cert, think, stall, retry = sys.argv[1:]

class Server(QuicConnectionProtocol):
    http = None
    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        for one in self.http.handle_event(event) if self.http else ():
            if isinstance(one, HeadersReceived):
                asyncio.ensure_future(self.answer(one))
    async def answer(self, asked):
        await asyncio.sleep(float(think) / 1e3)
        body = open(pki + '/site' + dict(asked.headers)[b':path'].decode(), 'rb').read()
        length = str(len(body)).encode()
        self.http.send_headers(asked.stream_id, [(b':status', b'200'), (b'content-length', length)])
        half = len(body) // 2 if float(stall) else 0
        if half:
            self.http.send_data(asked.stream_id, body[:half], False)
            self.transmit()
            await asyncio.sleep(float(stall) / 1e3)
        self.http.send_data(asked.stream_id, body[half:], True)
        self.transmit()

async def main():
    made = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    made.load_cert_chain(f'{pki}/{cert}.pem', pki + '/key.pem')
    await serve('0.0.0.0', 443, configuration=made, create_protocol=Server, retry=retry == 'retry')
    await asyncio.Event().wait()
asyncio.run(main())
"""


def aioquic(stage, think=0, stall=0, cert="leaf", retry=""):
    """PyPI's aioquic. PYTHON_AIOQUIC names the interpreter that has it, if the system's has not."""
    python = os.environ.get("PYTHON_AIOQUIC", PYTHON)
    if subprocess.run([python, "-c", "import aioquic"], capture_output=True).returncode:
        raise FileNotFoundError(2, "not installed", "aioquic")
    words = (str(stage.pki), cert, str(think), str(stall), retry)
    stage.serve(python, "-c", AIOQUIC, *words, port=443)


def caddy_h3(stage, upstream=None):
    """`upstream` is a port of this end to which it passes requests."""
    does = "root * {}/site\n  file_server".format(stage.pki)
    if upstream:
        does = f"reverse_proxy 127.0.0.1:{upstream} {{\n    flush_interval -1\n  }}"
    config = stage.dir / "Caddyfile"
    config.write_text(f"""{{
  admin off
  auto_https off
}}
:443 {{
  tls {stage.pki}/leaf.pem {stage.pki}/key.pem
  {does}
}}
""")
    env = {name: str(stage.dir) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    words = ("run", "--config", str(config), "--adapter", "caddyfile")
    stage.serve("caddy", *words, port=443, env=env)


PHP = """<?php
usleep(1000 * intval($_GET['ms'] ?? 0));
$body = file_get_contents(getenv('PKI') . '/site' . strtok($_SERVER['REQUEST_URI'], '?'));
header('Content-Type: text/plain');
header('Content-Length: ' . strlen($body));
echo $body;
"""


def php(stage):
    """PHP's own server: one request at a time."""
    (stage.dir / "index.php").write_text(PHP)
    script = str(stage.dir / "index.php")
    stage.serve("php", "-S", "0.0.0.0:80", script, port=80, env={"PKI": str(stage.pki)})


def occupied(start, ms):
    """Other clients occupy the server's only thread, one after the other, each for this long."""

    def begin(stage):
        start(stage)
        load = f"while :; do curl -s -o /dev/null 'http://127.0.0.1/b600?ms={ms}'; done"
        with stage.at_far():
            for _ in range(2):
                subprocess.Popen(["sh", "-c", load])

    return begin


WEBRICK = """
require 'webrick'
require 'webrick/https'
pki, think = ARGV
server = WEBrick::HTTPServer.new(
  Port: 443, SSLEnable: true, Logger: WEBrick::Log.new(File::NULL), AccessLog: [],
  SSLCertificate: OpenSSL::X509::Certificate.new(File.read(pki + '/leaf.pem')),
  SSLPrivateKey: OpenSSL::PKey.read(File.read(pki + '/key.pem')))
server.mount_proc('/') do |asked, answer|
  sleep(think.to_f / 1e3)
  answer.body = File.binread(pki + '/site' + asked.path)
end
server.start
"""


def webrick(stage, think=0):
    if not shutil.which("ruby"):
        raise FileNotFoundError(2, "not installed", "ruby")
    stage.serve("ruby", "-e", WEBRICK, str(stage.pki), str(think), port=443, seconds=20)


TWISTED = """
import sys
from twisted.internet import reactor, ssl, task
from twisted.web import resource, server
pki, think = sys.argv[1], float(sys.argv[2]) / 1e3
class Site(resource.Resource):
    isLeaf = True
    def render_GET(self, asked):
        def answer():
            asked.write(open(pki + '/site' + asked.path.decode(), 'rb').read())
            asked.finish()
        task.deferLater(reactor, think, answer)
        return server.NOT_DONE_YET
made = ssl.DefaultOpenSSLContextFactory(pki + '/key.pem', pki + '/leaf.pem')
reactor.listenSSL(443, server.Site(Site()), made)
reactor.run()
"""


def twisted(stage, think=0):
    if subprocess.run([PYTHON, "-c", "import twisted, OpenSSL"], capture_output=True).returncode:
        raise FileNotFoundError(2, "not installed", "twisted")
    stage.serve(PYTHON, "-c", TWISTED, str(stage.pki), str(think), port=443, seconds=20)


def stunnel_busybox(stage):
    """Two programs: one for TLS, one for HTTP, as small devices have them."""
    stage.serve("busybox", "httpd", "-f", "-p", "127.0.0.1:8090", "-h", f"{stage.pki}/site", port=8090)
    config = stage.dir / "stunnel.conf"
    config.write_text(f"""foreground = yes
pid =
[site]
accept = 443
connect = 127.0.0.1:8090
cert = {stage.pki}/leaf.pem
key = {stage.pki}/key.pem
""")
    stage.serve("stunnel", str(config), port=443)


def haproxy_that_inspects(stage, ms, backend=8443):
    """Passes TLS on, but only after it has looked at the ClientHello for this long."""
    servers.nginx(stage, port=backend)
    servers.haproxy_with(stage, "tcp", f"""
frontend f
  bind :443
  tcp-request inspect-delay {ms}ms
  tcp-request content accept if WAIT_END
  default_backend b
backend b
  server s 127.0.0.1:{backend}
""")


def apache_limited(stage, kibibytes):
    """mod_ratelimit: a piece every 200 ms."""
    servers.apache(stage, tls=False)
    modules = "/usr/lib/apache2/modules"
    config = stage.dir / "limited.conf"
    text = (stage.dir / "apache.conf").read_text().replace("Listen 80", "Listen 8088")
    text = text.replace("apache.pid", "limited.pid")
    config.write_text(
        f"LoadModule ratelimit_module {modules}/mod_ratelimit.so\n"
        f"LoadModule env_module {modules}/mod_env.so\n{text}\n"
        f"<Location />\nSetOutputFilter RATE_LIMIT\nSetEnv rate-limit {kibibytes}\n</Location>\n"
    )
    stage.serve("apache2", "-DFOREGROUND", "-f", str(config), port=8088)


def lighttpd_limited(stage, kibibytes):
    config = stage.dir / "limited.conf"
    config.write_text(
        f'server.document-root = "{stage.pki}/site"\nserver.port = 80\n'
        f'server.errorlog = "{stage.dir}/limited.err"\nconnection.kbytes-per-second = {kibibytes}\n'
    )
    stage.serve("lighttpd", "-D", "-f", str(config), port=80)


def kernel_bucket(start, rate, burst):
    """A shaper of the kernel at the far end: a token bucket."""

    def begin(stage):
        start(stage)
        words = f"qdisc replace dev far root tbf rate {rate} burst {burst} latency 900ms"
        with stage.at_far():
            subprocess.run(["tc", *words.split()], check=True)

    return begin


def dnsmasq(stage, upstream=5353):
    words = "--no-daemon --no-resolv --no-hosts --cache-size=0 --user=root --listen-address=10.9.0.1 --bind-interfaces"
    stage.serve("dnsmasq", *words.split(), f"--server=127.0.0.1#{upstream}", port=53)
    time.sleep(0.1)
