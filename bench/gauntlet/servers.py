"""Other makers' servers and proxies at the far end, each with a minimal configuration."""

import os
import pathlib
import subprocess

SIZES = (
    6,
    100,
    600,
    5000,
    9000,
    14000,
    20000,
    30000,
    60000,
    100000,
    150000,
    200000,
    300000,
    500000,
    1000000,
    2000000,
)
PYTHON = "/usr/bin/python3"
os.environ["PATH"] += ":/usr/sbin:/sbin"


def pki(directory):
    """A CA, and certificates that it signed: small, of some segments, and over a window."""
    at = pathlib.Path(directory)

    def openssl(*words):
        subprocess.run(
            ["openssl", *words],
            cwd=at,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl(
        "req",
        "-x509",
        *key,
        "-keyout",
        "ca.key",
        "-out",
        "ca.pem",
        "-days",
        "30",
        "-subj",
        "/CN=gauntlet CA",
        "-addext",
        "basicConstraints=critical,CA:TRUE",
    )
    openssl("req", *key, "-keyout", "key.pem", "-out", "leaf.csr", "-subj", "/CN=site.test")
    for name, others in (("leaf", 0), ("medium", 130), ("large", 560), ("huge", 900)):
        names = ["site.test", "other.test", "*.corp.test"] + [
            f"host-{n:04}.of-a-long-zone.test" for n in range(others)
        ]
        (at / f"{name}.ext").write_text(
            "basicConstraints=CA:FALSE\nsubjectAltName=" + ",".join("DNS:" + n for n in names)
        )
        openssl(
            "x509",
            "-req",
            "-in",
            "leaf.csr",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-days",
            "20",
            "-extfile",
            f"{name}.ext",
            "-out",
            f"{name}.pem",
        )
        (at / f"{name}-both.pem").write_text(
            (at / f"{name}.pem").read_text() + (at / "key.pem").read_text()
        )
    site = at / "site"
    site.mkdir()
    for size in SIZES:
        (site / f"b{size}").write_bytes(os.urandom(size))
    for path in [at, site, *at.iterdir(), *site.iterdir()]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return at


def _listener(tls, port, extra=""):
    return f"listen {port}{' ssl' if tls else ''}{extra}; listen [::]:{port}{' ssl' if tls else ''}{extra};"


def nginx(
    stage,
    tls=True,
    h2=True,
    port=None,
    cert="leaf",
    server="",
    location="",
    protocols="TLSv1.2 TLSv1.3",
    upstream=None,
    address=None,
    plain=None,
    also="",
):
    """nginx with its defaults; `upstream` is a port of this end to which it passes requests."""
    port = port or (443 if tls else 80)
    passing = (
        f"proxy_pass http://127.0.0.1:{upstream}; proxy_http_version 1.1; proxy_buffering off;"
        if upstream
        else ""
    )
    listen = (
        f"listen {address}:{port}{' ssl' if tls else ''}{' http2' if tls and h2 else ''};"
        if address
        else _listener(tls, port, " http2" if tls and h2 else "")
    )
    certs = f"ssl_certificate {stage.pki}/{cert}.pem; ssl_certificate_key {stage.pki}/key.pem; ssl_protocols {protocols};"
    more = (
        f"server {{ listen {plain}; listen [::]:{plain}; root {stage.pki}/site; }}" if plain else ""
    )
    config = stage.dir / f"nginx-{port}.conf"
    config.write_text(f"""
daemon off; master_process off; pid {stage.dir}/nginx-{port}.pid; error_log {stage.dir}/nginx-{port}.err;
events {{ worker_connections 256; }}
http {{
  access_log off; client_max_body_size 64m; client_body_temp_path {stage.dir}/n1; proxy_temp_path {stage.dir}/n2;
  fastcgi_temp_path {stage.dir}/n3; uwsgi_temp_path {stage.dir}/n4; scgi_temp_path {stage.dir}/n5;
  default_type text/plain; sendfile on; {also}
  server {{ {listen} server_name _; root {stage.pki}/site; {certs if tls else ''} {server}
    location / {{ {passing} {location} }}
    location = /up {{ proxy_pass http://127.0.0.1:{upstream or 8090}; }} }}
  {more}
}}""")
    stage.serve("nginx", "-c", str(config), "-p", str(stage.dir), port=port)


def apache(stage, tls=True, h2=True):
    port = 443 if tls else 80
    modules = "/usr/lib/apache2/modules"
    load = "".join(
        f"LoadModule {name}_module {modules}/mod_{name}.so\n"
        for name in ("mpm_event", "authz_core", "dir", "ssl", "http2", "socache_shmcb")
    )
    secure = (
        (
            f"SSLEngine on\nSSLCertificateFile {stage.pki}/leaf.pem\nSSLCertificateKeyFile {stage.pki}/key.pem\n"
            + ("Protocols h2 http/1.1\n" if h2 else "")
        )
        if tls
        else ""
    )
    config = stage.dir / "apache.conf"
    config.write_text(f"""{load}ServerRoot {stage.dir}
ServerName site.test
PidFile {stage.dir}/apache.pid
DefaultRuntimeDir {stage.dir}
ErrorLog {stage.dir}/apache.err
User www-data
Group www-data
Listen {port}
DocumentRoot {stage.pki}/site
<Directory />
Require all granted
</Directory>
{secure}""")
    stage.serve("apache2", "-DFOREGROUND", "-f", str(config), port=port)


def haproxy(stage, backend, tls=True, h2=True):
    port = 443 if tls else 80
    secure = (
        f" ssl crt {stage.pki}/leaf-both.pem" + (" alpn h2,http/1.1" if h2 else "") if tls else ""
    )
    haproxy_with(stage, "http", f"""
frontend f
  bind :::{port} v4v6{secure}
  default_backend b
backend b
  server s 127.0.0.1:{backend}
""", port)


def haproxy_with(stage, mode, text, port=443):
    """HAProxy with these frontends and backends."""
    config = stage.dir / "haproxy.cfg"
    config.write_text(f"""
defaults
  mode {mode}
  timeout connect 5s
  timeout client 30s
  timeout server 30s
{text}""")
    stage.serve("haproxy", "-db", "-f", str(config), port=port)


def caddy(stage, h2=True):
    config = stage.dir / "Caddyfile"
    config.write_text(f"""{{
  admin off
  auto_https off
  servers {{
    protocols {'h1 h2' if h2 else 'h1'}
  }}
}}
:443 {{
  tls {stage.pki}/leaf.pem {stage.pki}/key.pem
  root * {stage.pki}/site
  file_server
}}
""")
    stage.serve(
        "caddy",
        "run",
        "--config",
        str(config),
        "--adapter",
        "caddyfile",
        port=443,
        env={
            "HOME": str(stage.dir),
            "XDG_DATA_HOME": str(stage.dir),
            "XDG_CONFIG_HOME": str(stage.dir),
        },
    )


def lighttpd(stage, tls=True):
    port = 443 if tls else 80
    config = stage.dir / "lighttpd.conf"
    secure = (
        f'server.modules = ("mod_openssl")\nssl.engine = "enable"\nssl.pemfile = "{stage.pki}/leaf-both.pem"\n'
        if tls
        else ""
    )
    config.write_text(
        f'server.document-root = "{stage.pki}/site"\nserver.port = {port}\n'
        f'server.errorlog = "{stage.dir}/lighttpd.err"\n{secure}'
    )
    stage.serve("lighttpd", "-D", "-f", str(config), port=port)


def hitch(stage, backend):
    stage.serve(
        "hitch",
        "--frontend=[*]:443",
        f"--backend=[127.0.0.1]:{backend}",
        "--user=nobody",
        "--alpn-protos=http/1.1",
        "--workers=1",
        f"{stage.pki}/leaf-both.pem",
        port=443,
    )


def varnish(stage, backend, port=80):
    stage.serve(
        "varnishd",
        "-F",
        "-a",
        f":{port}",
        "-b",
        f"127.0.0.1:{backend}",
        "-n",
        str(stage.dir / "varnish"),
        "-s",
        "malloc,32m",
        "-j",
        "none",
        port=port,
    )


NODE = """
const fs = require('fs'), http = require('http'), https = require('https'), http2 = require('http2');
const [kind, port, pki, think] = process.argv.slice(2);
const options = kind === 'http' ? {} : {key: fs.readFileSync(pki + '/key.pem'), cert: fs.readFileSync(pki + '/leaf.pem')};
const answer = (q, a) => setTimeout(() => {
  const body = fs.readFileSync(pki + '/site' + q.url);
  a.writeHead(200, {'content-type': 'text/plain', 'content-length': body.length});
  a.end(body);
}, Number(think));
if (kind === 'http') http.createServer(answer).listen(port);
if (kind === 'https') https.createServer(options, answer).listen(port);
if (kind === 'http2') http2.createSecureServer({...options, allowHTTP1: true}, answer).listen(port);
"""


def node(stage, kind="https", think=0):
    script = stage.dir / "server.js"
    script.write_text(NODE)
    port = 80 if kind == "http" else 443
    stage.serve("node", str(script), kind, str(port), str(stage.pki), str(think), port=port)


PYTHON_HTTP = """
import http.server, os, ssl, sys
os.chdir(sys.argv[1] + '/site')
class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = sys.argv[3] == 'no delay'
    wbufsize = -1 if disable_nagle_algorithm else 0
server = http.server.ThreadingHTTPServer(('', int(sys.argv[2])), Handler)
if sys.argv[2] == '443':
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1] + '/leaf.pem', sys.argv[1] + '/key.pem')
    server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


def python_http(stage, tls=True, tuned=True):
    port = 443 if tls else 80
    stage.serve(
        PYTHON,
        "-c",
        PYTHON_HTTP,
        str(stage.pki),
        str(port),
        "no delay" if tuned else "as it is",
        port=port,
    )


AIOHTTP = """
import asyncio, ssl, sys
from aiohttp import web
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1] + '/leaf.pem', sys.argv[1] + '/key.pem')
async def answer(request):
    await asyncio.sleep(float(sys.argv[2]) / 1e3)
    return web.Response(body=open(sys.argv[1] + '/site' + request.path, 'rb').read())
app = web.Application()
app.router.add_get('/{name}', answer)
web.run_app(app, port=443, ssl_context=context, print=None)
"""


def aiohttp(stage, think=0):
    stage.serve(PYTHON, "-c", AIOHTTP, str(stage.pki), str(think), port=443)


def s_server(stage, *options):
    stage.serve(
        "sh",
        "-c",
        f"cd {stage.pki}/site && exec openssl s_server -accept 443 -WWW -cert {stage.pki}/leaf.pem "
        f"-key {stage.pki}/key.pem {' '.join(options)}",
        port=443,
    )


def nghttpd(stage, *options):
    stage.serve(
        "nghttpd",
        "-d",
        f"{stage.pki}/site",
        *options,
        "443",
        f"{stage.pki}/key.pem",
        f"{stage.pki}/leaf.pem",
        port=443,
    )


def ngtcp2(stage, cert="leaf"):
    stage.serve(
        "gtlsserver",
        "-q",
        "-d",
        f"{stage.pki}/site",
        "*",
        "443",
        f"{stage.pki}/key.pem",
        f"{stage.pki}/{cert}.pem",
        port=443,
    )


def squid(stage, port=3128):
    config = stage.dir / "squid.conf"
    stage.dir.chmod(0o777)
    config.write_text(f"""http_port {port}
http_access allow all
pid_filename {stage.dir}/squid.pid
access_log none
cache_log {stage.dir}/squid.log
cache deny all
coredump_dir {stage.dir}
shutdown_lifetime 0 seconds
hosts_file {stage.dir}/hosts
""")
    (stage.dir / "hosts").write_text("10.9.0.1 site.test\n")
    stage.serve("squid", "-N", "-f", str(config), port=port)


def tinyproxy(stage, port=8888):
    config = stage.dir / "tinyproxy.conf"
    config.write_text(
        f'Port {port}\nTimeout 60\nMaxClients 20\nLogFile "{stage.dir}/tinyproxy.log"\n'
    )
    stage.serve("tinyproxy", "-d", "-c", str(config), port=port)
