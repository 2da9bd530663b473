"""Pages for a browser, and an app behind gate, in one server: it prints its port, and serves until it is killed.

/NAME.html is a page that runs NAME.js, which is next to this file, and shows its result; the page has loaded when the
script has ended. /seen lists the other requests, and any other path is answered with its request.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PATIENCE = 60
PAGE = """<!DOCTYPE html><html><head><link rel="icon" href="data:,"></head><body><pre></pre><img src="/hold">
<script>%s
run(new URLSearchParams(location.search)).catch(error => "failed: " + error).then(said => {
  document.querySelector("pre").textContent = JSON.stringify(said);
  return fetch("/done", { method: "POST" });
});</script></body></html>"""

seen, through = [], threading.Event()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = self.path.split("?")[0]
        if path.endswith(".html"):
            script = Path(__file__).with_name(path.removeprefix("/").replace(".html", ".js"))
            return self.say(PAGE % script.read_text(), "text/html")
        if path == "/done":
            through.set()
        elif path == "/hold":
            through.wait(PATIENCE)
        elif path == "/seen":
            return self.say(json.dumps(seen))
        else:
            seen.append([self.command, path, self.headers.get("authorization"), self.headers.get("cookie")])
        told = {"method": self.command, "authorization": self.headers.get("authorization"), "body": body.decode()}
        return self.say(json.dumps(told))

    do_GET = do_POST = do_PUT = do_OPTIONS = answer

    def say(self, text, kind="application/json"):
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Shown", "yes")
        if self.path.startswith("/pass"):
            # An app with its own CORS fields.
            self.send_header("Access-Control-Allow-Origin", self.headers.get("origin", ""))
            self.send_header("Access-Control-Allow-Headers", "authorization")
        elif self.path.startswith("/answer"):
            # And one with wrong CORS fields.
            self.send_header("Access-Control-Allow-Origin", "https://elsewhere.example")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
