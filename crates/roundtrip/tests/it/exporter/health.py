"""A gRPC server with the health service, by gRPC's own library.

health.py [KEY CERTIFICATE]     prints its port and serves until it is killed
"""

import sys
from concurrent import futures

import grpc

METHOD = "/grpc.health.v1.Health/Check"
# grpc.health.v1.HealthCheckResponse: field 1 is the status.
ANSWERS = {b"": b"\x08\x01", b"down": b"\x08\x02", b"unset": b"", b"gone": b"\x08\x03"}


class Health(grpc.GenericRpcHandler):
    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(self.check) if details.method == METHOD else None

    def check(self, request, context):
        # HealthCheckRequest: field 1 is the service's name.
        name = request[2:]
        if name == b"late":
            context.abort(grpc.StatusCode.DATA_LOSS, "lost")
        if name == b"secret":
            fields = dict(context.invocation_metadata())
            if fields.get("x-key") != "open":
                context.abort(grpc.StatusCode.UNAUTHENTICATED, "no key")
            return ANSWERS[b""]
        if name not in ANSWERS:
            context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        return ANSWERS[name]


server = grpc.server(futures.ThreadPoolExecutor(4))
server.add_generic_rpc_handlers((Health(),))
if len(sys.argv) > 1:
    key, certificate = (open(name, "rb").read() for name in sys.argv[1:3])
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, certificate)]))
else:
    port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(port, flush=True)
server.wait_for_termination()
