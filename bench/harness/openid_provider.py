"""A small OpenID provider at which everybody is logged in already: `python3 openid_provider.py PORT KEY`.

It stores nothing: the code that it gives to a browser contains the client's request. KEY is an RSA key in PEM, with
which `openssl` signs.
"""

import base64
import hashlib
import http.server
import json
import subprocess
import sys
import time
import urllib.parse

LIFE = 86400  # seconds that tokens are valid


def text_of(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Provider(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    issuer, key, modulus = "", "", ""

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/auth":
            asked = dict(urllib.parse.parse_qsl(url.query))
            request = [asked["client_id"], asked.get("nonce"), asked.get("code_challenge")]
            back = urllib.parse.urlencode({"code": text_of(json.dumps(request).encode()), "state": asked["state"]})
            return self.answer(302, b"", {"Location": f"{asked['redirect_uri']}?{back}"})
        if url.path == "/jwks":
            key = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1", "n": self.modulus, "e": "AQAB"}
            return self.tell({"keys": [key]})
        self.tell({"issuer": self.issuer, "authorization_endpoint": f"{self.issuer}/auth", "token_endpoint": f"{self.issuer}/token",
                   "jwks_uri": f"{self.issuer}/jwks", "response_types_supported": ["code"], "subject_types_supported": ["public"],
                   "id_token_signing_alg_values_supported": ["RS256"]})

    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        code = form["code"] + "=" * (-len(form["code"]) % 4)
        client, nonce, challenge = json.loads(base64.urlsafe_b64decode(code))
        if challenge and text_of(hashlib.sha256(form["code_verifier"].encode()).digest()) != challenge:
            return self.tell({"error": "invalid_grant"}, 400)
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": client, "sub": "browser", "email": "browser@site.example", "email_verified": True,
                  "iat": now, "exp": now + LIFE, "nonce": nonce}
        self.tell({"token_type": "Bearer", "access_token": "a", "expires_in": LIFE, "id_token": self.signed(claims)})

    def signed(self, claims):
        parts = [{"alg": "RS256", "kid": "1", "typ": "JWT"}, claims]
        text = ".".join(text_of(json.dumps(part).encode()) for part in parts)
        proof = openssl("dgst", "-sha256", "-sign", self.key, input=text.encode())
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


def openssl(*words, **more):
    return subprocess.run(["openssl", *words], capture_output=True, check=True, **more).stdout


def main():
    port, key = sys.argv[1:3]
    Provider.issuer, Provider.key = f"http://127.0.0.1:{port}", key
    modulus = openssl("rsa", "-in", key, "-noout", "-modulus").decode().strip()
    Provider.modulus = text_of(bytes.fromhex(modulus.removeprefix("Modulus=")))
    http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Provider).serve_forever()


if __name__ == "__main__":
    main()
