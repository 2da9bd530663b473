"""An OpenID provider for a soak, at which everybody is logged in already: `python3 soak_provider.py PORT KEY`.

It stores nothing: the code that it gives to a browser contains gate's request. KEY is an Ed25519 key in
PEM, with which `openssl` signs.
"""

import base64
import hashlib
import http.server
import json
import subprocess
import sys
import tempfile
import time
import urllib.parse

LIFE = 3600  # seconds that tokens are valid


def text_of(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Provider(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    issuer, key, public = "", "", ""

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/auth":
            asked = dict(urllib.parse.parse_qsl(url.query))
            code = text_of(json.dumps([asked["nonce"], asked["code_challenge"]]).encode())
            back = urllib.parse.urlencode({"code": code, "state": asked["state"]})
            return self.answer(302, b"", {"Location": f"{asked['redirect_uri']}?{back}"})
        if url.path == "/jwks":
            return self.tell({"keys": [{"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": "1", "x": self.public}]})
        self.tell({"issuer": self.issuer} | {name: f"{self.issuer}/{path}" for name, path in
                                             {"authorization_endpoint": "auth", "token_endpoint": "token", "jwks_uri": "jwks"}.items()})

    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        code = form["code"] + "=" * (-len(form["code"]) % 4)
        nonce, challenge = json.loads(base64.urlsafe_b64decode(code))
        if text_of(hashlib.sha256(form["code_verifier"].encode()).digest()) != challenge:
            return self.tell({"error": "invalid_grant"}, 400)
        now = int(time.time())
        claims = {"iss": self.issuer, "sub": "browser", "aud": "gate", "iat": now, "exp": now + LIFE, "nonce": nonce}
        self.tell({"token_type": "Bearer", "access_token": "a", "expires_in": LIFE, "id_token": self.signed(claims)})

    def signed(self, claims):
        parts = [{"alg": "EdDSA", "kid": "1", "typ": "JWT"}, claims]
        text = ".".join(text_of(json.dumps(part).encode()) for part in parts)
        with tempfile.NamedTemporaryFile() as file:
            file.write(text.encode())
            file.flush()
            proof = subprocess.run(["openssl", "pkeyutl", "-sign", "-inkey", self.key, "-rawin", "-in", file.name], capture_output=True, check=True).stdout
        return f"{text}.{text_of(proof)}"

    def tell(self, document, status=200):
        self.answer(status, json.dumps(document).encode(), {"Content-Type": "application/json"})

    def answer(self, status, body, fields):
        self.send_response(status)
        for name, value in (fields | {"Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    port, key = sys.argv[1:3]
    Provider.issuer, Provider.key = f"http://127.0.0.1:{port}", key
    public = subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-outform", "DER"], capture_output=True, check=True).stdout
    Provider.public = text_of(public[-32:])
    http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Provider).serve_forever()


if __name__ == "__main__":
    main()
