"""The system of article A3 as a Python programmer would write it: aiohttp before and behind, and in between cookie,
HS512, Redis, AES-256.

    auth_proxy.py LISTEN BACKEND                         relays
    auth_proxy.py LISTEN BACKEND SECRET KEY REDIS        lets in who has a session; SECRET and KEY are files, REDIS a URL
    auth_proxy.py --token SECRET SID                     prints a cookie's value
    auth_proxy.py --seal KEY SID LOGIN                   prints what Redis is to have of a session

Nothing is remembered from one request to the next, as in the article; connections to Redis and to the backend are kept.
"""

import base64
import hashlib
import hmac
import json
import pathlib
import secrets
import sys
import time

HOP_BY_HOP = {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade"}
KEY_ID = "1"


def main():
    match sys.argv[1:]:
        case ["--token", secret, sid]:
            print(token(read(secret), sid))
        case ["--seal", key, sid, login]:
            print(json.dumps({"credentials": seal(read(key), sid, login.encode())}))
        case [listen, backend]:
            serve(listen, backend, None)
        case [listen, backend, secret, key, redis]:
            serve(listen, backend, (read(secret), read(key), redis))
        case _:
            sys.exit(__doc__)


def read(file):
    return pathlib.Path(file).read_bytes()


def serve(listen, backend, guard):
    from aiohttp import web
    host, port = listen.rsplit(":", 1)
    app = web.Application(client_max_size=1 << 26)
    proxy = Proxy(backend, guard)
    app.cleanup_ctx.append(proxy.life)
    app.router.add_route("*", "/{path:.*}", proxy.handle)
    web.run_app(app, host=host, port=int(port), print=None, access_log=None, backlog=4096)


class Proxy:
    def __init__(self, backend, guard):
        self.backend, self.guard = backend.rstrip("/"), guard

    async def life(self, app):
        import aiohttp
        if self.guard:
            import redis.asyncio
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
            self.secret, key, url = self.guard
            self.key, self.store = AESGCM(key), redis.asyncio.from_url(url)
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=50)
        self.client = aiohttp.ClientSession(connector=connector, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar())
        yield
        await self.client.close()

    async def handle(self, request):
        import yarl
        from aiohttp import web
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP}
        if self.guard:
            status, login = await self.authorize(request)
            if status != 200:
                return web.Response(status=status)
            headers["Authorization"] = "Basic " + base64.b64encode(login).decode()
        body = await request.read() if request.can_read_body else None
        url = yarl.URL(self.backend + request.raw_path, encoded=True)
        async with self.client.request(request.method, url, headers=headers, data=body, allow_redirects=False) as answer:
            kept = [(name, value) for name, value in answer.headers.items() if name.lower() not in HOP_BY_HOP]
            return web.Response(status=answer.status, headers=kept, body=await answer.read())

    async def authorize(self, request):
        claims = verified(self.secret, request.cookies.get("Authorization", ""))
        if not claims:
            return 401, None
        record = await self.store.get(claims["sid"])
        if record is None:
            return 401, None
        try:
            return 200, opened(self.key, claims["sid"], json.loads(record)["credentials"])
        except Exception:
            return 500, None


def token(secret, sid):
    """As hyper-auth-proxy takes it: base64 of the token in quotes."""
    now = int(time.time())
    claims = {"sub": "someone@example.com", "sid": sid, "iat": now, "exp": now + 30 * 86400}
    signed = ".".join(unpadded(json.dumps(part, separators=(",", ":")).encode()) for part in [{"alg": "HS512", "typ": "JWT"}, claims])
    signature = unpadded(hmac.digest(secret, signed.encode(), hashlib.sha512))
    return base64.b64encode(f'"{signed}.{signature}"'.encode()).decode()


def verified(secret, cookie):
    """The claims of a cookie's token, or None."""
    try:
        head, claims, signature = base64.b64decode(cookie.strip('"')).decode().strip('"').split(".")
        good = hmac.digest(secret, f"{head}.{claims}".encode(), hashlib.sha512)
        if not hmac.compare_digest(good, padded(signature)) or json.loads(padded(head))["alg"] != "HS512":
            return None
        claims = json.loads(padded(claims))
        return claims if claims["exp"] > time.time() and isinstance(claims["sid"], str) else None
    except (ValueError, KeyError, TypeError):
        return None


def seal(key, sid, login):
    """`v1.<kid>.<nonce>.<ciphertext>`: AES-256-GCM, bound to its session."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    nonce = secrets.token_bytes(12)
    return f"v1.{KEY_ID}.{unpadded(nonce)}.{unpadded(AESGCM(key).encrypt(nonce, login, sid.encode()))}"


def opened(key, sid, sealed):
    version, _, nonce, ciphertext = sealed.split(".")
    if version != "v1":
        raise ValueError("not sealed")
    return key.decrypt(padded(nonce), padded(ciphertext), sid.encode())


def unpadded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def padded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


if __name__ == "__main__":
    main()
