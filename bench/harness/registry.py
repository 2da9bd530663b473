"""A real RDAP server as a registry would run it: icann-rdap-srv, in memory, behind nginx with all its features."""

import shlex
import subprocess

from harness import servers, tools

# The port of rdap-srv on the loopback of the namespace in which nginx runs.
INNER = "127.0.0.1:3000"
ACCEPT = "application/rdap+json"
STREAMS = 128  # nginx's default, set explicitly so that it is known
DOMAIN = "test-domain-{}.example"


class Registry(servers.Server):
    """`place` also gets the data. nginx logs a line for each answer: connection, status, protocol, resumed, early."""

    name = "nginx"
    needs = [*servers.Server.needs, "nginx", "curl"]
    version = ("nginx", "-v")

    def __init__(self, place, peers, domains):
        super().__init__(place)
        self.peers, self.log, self.data = peers, place / "access.log", place / "data"
        self.data.mkdir()
        others = [f"--{kind}={max(1, domains // 10)}" for kind in ["nameservers", "entities", "autnums", "v4s", "v6s"]]
        # It puts `https://` in front of this value.
        done = subprocess.run([peers.data, "--data-dir", self.data, "-B", f"{servers.NAME}/rdap", f"--domains={domains}", *others],
                              capture_output=True, text=True)
        if done.returncode:
            tools.fail(f"rdap-srv-test-data failed: {done.stderr.strip()}")

    def start(self):
        at = self.place
        temporary = "".join(f"{kind}_temp_path {at}/{kind};\n" for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
        # One process without a master: `root` is the only user known in the namespaces of a path.
        config = self.write("nginx.conf", f"""
user root; daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;
worker_rlimit_nofile 20000;
events {{ worker_connections 9000; }}
http {{
{temporary}log_format lookup '$connection $status $server_protocol $ssl_session_reused $ssl_early_data';
access_log {at}/access.log lookup;
upstream registry {{ server {INNER}; keepalive 256; keepalive_requests 10000000; }}
server {{
  listen 443 ssl http2 fastopen=64 backlog=1024; listen [::]:443 ssl http2 fastopen=64 backlog=1024;
  ssl_certificate {at}/chain.pem; ssl_certificate_key {at}/key.pem;
  ssl_protocols TLSv1.2 TLSv1.3; ssl_early_data on; ssl_session_cache shared:TLS:10m; ssl_session_tickets on;
  http2_max_concurrent_streams {STREAMS}; keepalive_requests 10000000; keepalive_timeout 60s;
  location /rdap/ {{
    proxy_pass http://registry; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host;
    proxy_set_header Early-Data $ssl_early_data; proxy_read_timeout 30s;
  }}
}}
}}
""")
        inner, port = INNER.split(":")
        settings = {"RDAP_SRV_LOG": "warn", "RDAP_SRV_STORAGE": "memory", "RDAP_SRV_DATA_DIR": self.data, "RDAP_SRV_LISTEN_ADDR": inner,
                    "RDAP_SRV_LISTEN_PORT": port, "RDAP_BASE_URL": f"https://{servers.NAME}/rdap"}
        told = " ".join(f"{name}={shlex.quote(str(value))}" for name, value in settings.items())
        ask = f"curl -sf -o /dev/null -H 'Accept: {ACCEPT}' http://{INNER}/rdap/domain/{DOMAIN.format(0)}"
        return (f"{told} {self.peers.server} >{at}/rdap-srv.log 2>&1 & for i in $(seq 300); do {ask} && break; sleep 0.1; done; "
                f"ulimit -n 20000 2>/dev/null; exec nginx -p {at} -c {config} -e {at}/error.log")
