"""Asks like Envoy: gRPC's own library with Envoy's published definitions.

envoy_client.py DEFINITIONS ADDRESS COOKIE   writes what it heard as JSON
"""

import json
import sys

sys.path.insert(0, sys.argv[1])

import grpc  # noqa: E402
from envoy.service.auth.v3 import external_auth_pb2 as auth  # noqa: E402
from envoy.service.auth.v3 import external_auth_pb2_grpc as services  # noqa: E402

PATIENCE = 60
MANY = 500
# What a client may not say about itself, and what Envoy says.
CLAIMS = {"remote-user": "root", "x_forwarded_user": "root", "x-client": "root",
          "x-forwarded-for": "192.0.2.7", "x-forwarded-proto": "https", "x-envoy-external-address": "192.0.2.7"}


def question(cookie, method="GET", path="/x?y", host="site.example", more=()):
    asked = auth.CheckRequest()
    asked.attributes.source.address.socket_address.address = "192.0.2.7"
    asked.attributes.source.address.socket_address.port_value = 1234
    asked.attributes.context_extensions["mine"] = "1"
    asked.attributes.request.time.FromJsonString("2026-01-01T00:00:00Z")
    http = asked.attributes.request.http
    http.id, http.method, http.path, http.host = "1", method, path, host
    http.scheme, http.protocol, http.size = "https", "HTTP/2", -1
    fields = {":path": path, ":method": method, ":authority": host, "x-request-id": "a-b-c"}
    if cookie:
        fields["cookie"] = cookie
    http.headers.update(fields)
    http.headers.update(more)
    return asked


def told(answer):
    if answer.HasField("ok_response"):
        options = answer.ok_response.headers
        overwrites = all(option.append_action == 2 and not option.append.value for option in options)
        fields = {option.header.key.lower(): option.header.value for option in options}
        assert overwrites and fields.pop("x-request-id"), fields
        return {"code": answer.status.code, "remove": sorted(answer.ok_response.headers_to_remove), "fields": fields}
    denied = answer.denied_response
    fields = {option.header.key.lower(): option.header.value for option in denied.headers}
    return {
        "code": answer.status.code,
        "status": denied.status.code,
        "challenge": "www-authenticate" in fields,
        "body": bool(denied.body) and "content-length" not in fields,
    }


def main():
    _, _, address, cookie = sys.argv
    with grpc.insecure_channel(address) as channel:
        stub = services.AuthorizationStub(channel)

        def ask(asked):
            return told(stub.Check(asked, timeout=PATIENCE))

        heard = {
            "passed": ask(question(cookie)),
            "head": ask(question(cookie, method="HEAD")),
            "claims": ask(question(cookie, more=CLAIMS)),
            "open": ask(question("", path="/open/a")),
            "no token": ask(question("")),
            "bad token": ask(question("Authorization=x")),
            "two readings": ask(question("", path="/open/..;/x")),
            "no host": ask(question(cookie, host="")),
            "empty": ask(auth.CheckRequest()),
        }
        calls = [stub.Check.future(question(cookie), timeout=PATIENCE) for _ in range(MANY)]
        heard["many"] = sum(call.result().status.code == 0 for call in calls)
    json.dump(heard, sys.stdout)


main()
