"""Servers of languages and their frameworks at the far end, each with a minimal program."""

import fcntl
import os
import subprocess

from servers import PYTHON


GO = """
package main

import (
	"net/http"
	"os"
	"strconv"
	"time"
)

func main() {
	pki := os.Args[1]
	think, _ := strconv.Atoi(os.Args[2])
	files := http.FileServer(http.Dir(pki + "/site"))
	answer := func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Duration(think) * time.Millisecond)
		files.ServeHTTP(w, r)
	}
	panic(http.ListenAndServeTLS(":443", pki+"/leaf.pem", pki+"/key.pem", http.HandlerFunc(answer)))
}
"""


def go(stage, think=0):
    program = stage.pki / "go-server"
    with open(stage.pki / "go.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            (stage.pki / "server.go").write_text(GO)
            built = ["go", "build", "-o", str(program), str(stage.pki / "server.go")]
            subprocess.run(built, check=True, env={**os.environ, "GO111MODULE": "off"})
    stage.serve(str(program), str(stage.pki), str(think), port=443)


JAVA = """
import com.sun.net.httpserver.*;
import java.io.*;
import java.net.*;
import java.nio.file.*;
import java.security.*;
import javax.net.ssl.*;

public class Server {
  public static void main(String[] words) throws Exception {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(new FileInputStream(words[0] + "/leaf.p12"), "gauntlet".toCharArray());
    KeyManagerFactory keys = KeyManagerFactory.getInstance("SunX509");
    keys.init(store, "gauntlet".toCharArray());
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(keys.getKeyManagers(), null, null);
    HttpsServer server = HttpsServer.create(new InetSocketAddress(443), 64);
    server.setHttpsConfigurator(new HttpsConfigurator(context));
    server.createContext("/", exchange -> {
      byte[] body = Files.readAllBytes(Path.of(words[0] + "/site" + exchange.getRequestURI().getPath()));
      try { Thread.sleep(Long.parseLong(words[1])); } catch (InterruptedException error) { }
      exchange.sendResponseHeaders(200, body.length);
      try (OutputStream out = exchange.getResponseBody()) { out.write(body); }
    });
    server.setExecutor(java.util.concurrent.Executors.newCachedThreadPool());
    server.start();
  }
}
"""


def java(stage, think=0):
    """The JDK's own server. Its Nagle's algorithm is switched off, as its documentation says."""
    (stage.dir / "Server.java").write_text(JAVA)
    store = ["openssl", "pkcs12", "-export", "-in", f"{stage.pki}/leaf.pem", "-inkey"]
    store += [f"{stage.pki}/key.pem", "-out", f"{stage.pki}/leaf.p12", "-passout", "pass:gauntlet"]
    subprocess.run(store, check=True)
    words = ["-Dsun.net.httpserver.nodelay=true", "Server.java", str(stage.pki), str(think)]
    stage.serve("java", *words, port=443, seconds=30)


ASGI = """
import asyncio, os
async def app(scope, receive, send):
    if scope['type'] != 'http':
        return
    await asyncio.sleep(float(os.environ['THINK']) / 1e3)
    body = open(os.environ['PKI'] + '/site' + scope['path'], 'rb').read()
    await send({'type': 'http.response.start', 'status': 200,
                'headers': [(b'content-length', str(len(body)).encode())]})
    await send({'type': 'http.response.body', 'body': body})

def wsgi(environ, start):
    import time
    time.sleep(float(os.environ['THINK']) / 1e3)
    body = open(os.environ['PKI'] + '/site' + environ['PATH_INFO'], 'rb').read()
    start('200 OK', [('Content-Length', str(len(body)))])
    return [body]
"""


def _python_app(stage, think, *words):
    (stage.dir / "app.py").write_text(ASGI)
    env = {"PKI": str(stage.pki), "THINK": str(think), "PYTHONPATH": str(stage.dir), "HOME": str(stage.dir)}
    stage.serve(PYTHON, "-m", *words, port=443, env=env)


def uvicorn(stage, think=0):
    keys = [f"--ssl-keyfile={stage.pki}/key.pem", f"--ssl-certfile={stage.pki}/leaf.pem"]
    _python_app(stage, think, "uvicorn", "app:app", "--host=0.0.0.0", "--port=443", *keys)


def hypercorn(stage, think=0):
    keys = [f"--keyfile={stage.pki}/key.pem", f"--certfile={stage.pki}/leaf.pem"]
    _python_app(stage, think, "hypercorn", "app:app", "--bind=0.0.0.0:443", *keys)


def gunicorn(stage, think=0):
    keys = [f"--keyfile={stage.pki}/key.pem", f"--certfile={stage.pki}/leaf.pem"]
    words = ("--bind=0.0.0.0:443", "--worker-class=gthread", "--threads=8", "--keep-alive=30", "app:wsgi")
    _python_app(stage, think, "gunicorn", *keys, *words)


TORNADO = """
import sys, ssl, tornado.ioloop, tornado.web
class Answer(tornado.web.RequestHandler):
    def get(self, name):
        self.write(open(sys.argv[1] + '/site/' + name, 'rb').read())
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1] + '/leaf.pem', sys.argv[1] + '/key.pem')
tornado.web.Application([('/(.*)', Answer)]).listen(443, ssl_options=context)
tornado.ioloop.IOLoop.current().start()
"""


def tornado(stage):
    stage.serve(PYTHON, "-c", TORNADO, str(stage.pki), port=443)


def h2o(stage):
    config = stage.dir / "h2o.conf"
    config.write_text(f"""
user: root
num-threads: 1
listen:
  port: 443
  ssl:
    certificate-file: {stage.pki}/leaf.pem
    key-file: {stage.pki}/key.pem
hosts:
  default:
    paths:
      /:
        file.dir: {stage.pki}/site
""")
    stage.serve("h2o", "-c", str(config), port=443)
