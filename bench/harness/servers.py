"""Web servers as packaged by Debian, each in a separate directory, with all suitable features turned on."""

import subprocess

# The address of the far end of a path.
HOST, NAME = "198.18.0.2", "server"
MODULES = "/usr/lib/apache2/modules"


class Server:
    """`place` gets an authority, a certificate and a page; `start()` is the shell command that serves it."""

    needs = ["openssl"]

    def __init__(self, place, size=6):
        self.place = place
        place.chmod(0o755)
        certify(place)
        (place / "www").mkdir()
        (place / "www" / "page").write_text("hello\n" * (size // 6) + "." * (size % 6))

    def start(self):
        raise NotImplementedError

    def write(self, name, text):
        path = self.place / name
        path.write_text(text)
        return path


class Nginx(Server):
    name = "nginx"
    needs = [*Server.needs, "nginx"]
    version = ("nginx", "-v")

    def start(self):
        at = self.place
        temporary = "".join(f"{kind}_temp_path {at}/{kind};\n" for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
        # One process without a master: `root` is the only user known in the namespaces of a path.
        config = self.write("nginx.conf", f"""
user root; daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;
events {{ worker_connections 128; }}
http {{
{temporary}access_log off;
server {{
  listen {HOST}:443 ssl http2 fastopen=64;
  ssl_certificate {at}/chain.pem; ssl_certificate_key {at}/key.pem;
  ssl_protocols TLSv1.2 TLSv1.3; ssl_early_data on; ssl_session_cache shared:TLS:1m; ssl_session_tickets on;
  root {at}/www; default_type text/plain;
}}
}}
""")
        return f"exec nginx -p {at} -c {config} -e {at}/error.log"


class Apache(Server):
    name = "Apache"
    needs = [*Server.needs, "apache2", "unshare"]
    version = ("apache2", "-v")

    def start(self):
        at = self.place
        at.chmod(0o777)
        modules = "".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so\n"
                          for name in ["mpm_event", "authz_core", "socache_shmcb", "ssl", "http2", "mime"])
        config = self.write("apache.conf", f"""
{modules}ServerName localhost
PidFile {at}/pid
ErrorLog {at}/error.log
DefaultRuntimeDir {at}
Mutex pthread
TypesConfig /etc/mime.types
DocumentRoot {at}/www
ForceType text/plain
SSLSessionCache shmcb:{at}/cache(65536)
Listen {HOST}:443
Protocols h2 http/1.1
<VirtualHost {HOST}:443>
SSLEngine on
SSLCertificateFile {at}/chain.pem
SSLCertificateKeyFile {at}/key.pem
</VirtualHost>
""")
        # It refuses to serve as root, and there is no other user in the namespace, so it is given
        # one.
        return f"exec unshare --user --map-user=33 --map-group=33 apache2 -X -d {at} -f {config}"


class HaProxy(Server):
    name = "HAProxy"
    needs = [*Server.needs, "haproxy"]
    version = ("haproxy", "-v")

    def start(self):
        at = self.place
        self.write("all.pem", (at / "chain.pem").read_text() + (at / "key.pem").read_text())
        config = self.write("haproxy.cfg", f"""
global
  log stderr format raw local0 err
defaults
  mode http
  timeout client 60s
  timeout connect 5s
  timeout server 60s
  timeout http-keep-alive 60s
frontend web
  bind {HOST}:443 ssl crt {at}/all.pem alpn h2,http/1.1 allow-0rtt tfo ssl-min-ver TLSv1.2
  http-request return status 200 content-type text/plain string "hello"
""")
        return f"exec haproxy -db -q -f {config}"


class Caddy(Server):
    name = "Caddy"
    needs = [*Server.needs, "caddy"]
    version = ("caddy", "version")

    def start(self):
        at = self.place
        config = self.write("Caddyfile", f"""
{{
  admin off
  auto_https off
  storage file_system {at}/storage
}}
https://{NAME} {{
  tls {at}/chain.pem {at}/key.pem
  root * {at}/www
  file_server
}}
""")
        return f"HOME={at} exec caddy run --config {config} --adapter caddyfile 2>{at}/caddy.log"


ALL = {server.name: server for server in [Nginx, Apache, HaProxy, Caddy]}


def certify(place):
    """Makes ca.pem, and chain.pem with key.pem, signed by it for the address of the far end."""
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"]
    openssl("req", "-x509", *curve, "-keyout", place / "ca.key", "-out", place / "ca.pem", "-subj", "/CN=authority")
    openssl("req", "-x509", *curve, "-keyout", place / "key.pem", "-out", place / "chain.pem", "-subj", "/CN=server",
            "-CA", place / "ca.pem", "-CAkey", place / "ca.key", "-addext", f"subjectAltName=DNS:{NAME},IP:{HOST}",
            "-addext", "basicConstraints=critical,CA:FALSE")
    (place / "key.pem").chmod(0o644)


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)
