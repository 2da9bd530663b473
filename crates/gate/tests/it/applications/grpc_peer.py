"""gRPC's own library as server and as client, with messages that are plain bytes.

grpc_peer.py serve                          prints its port and serves until it is killed
grpc_peer.py ask PORT CERTIFICATE   makes every kind of call, and writes the results as JSON
"""

import json
import sys
import threading
import time
from concurrent import futures

import grpc

SERVICE = "/roundtrip.Echo/"
PATIENCE = 60
LARGE = 3 * 1024 * 1024
RALLIES = 50


class Echo(grpc.GenericRpcHandler):
    """Counts calls whose client gave up."""

    def __init__(self):
        self.cancelled = 0

    def service(self, details):
        kinds = {
            "Unary": grpc.unary_unary_rpc_method_handler(self.unary),
            "Down": grpc.unary_stream_rpc_method_handler(self.down),
            "Up": grpc.stream_unary_rpc_method_handler(self.up),
            "Both": grpc.stream_stream_rpc_method_handler(self.both),
            "Refuse": grpc.unary_unary_rpc_method_handler(self.refuse),
            "Half": grpc.unary_stream_rpc_method_handler(self.half),
            "Wait": grpc.unary_stream_rpc_method_handler(self.wait),
            "Cancelled": grpc.unary_unary_rpc_method_handler(self.how_many),
        }
        return kinds.get(details.method.removeprefix(SERVICE))

    def unary(self, request, context):
        fields = dict(context.invocation_metadata())
        context.send_initial_metadata((("x-first", fields.get("x-mine", "?")),))
        context.set_trailing_metadata((("x-last", "yes"), ("x-last-bin", b"\x00\xff")))
        return request

    def down(self, request, context):
        for number in range(int(request)):
            yield str(number).encode()

    def up(self, requests, context):
        return str(sum(len(request) for request in requests)).encode()

    def both(self, requests, context):
        for request in requests:
            yield b"re: " + request

    def refuse(self, request, context):
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not \u00fcber here")

    def half(self, request, context):
        yield b"first"
        context.abort(grpc.StatusCode.DATA_LOSS, "no second")

    def wait(self, request, context):
        over = threading.Event()

        def given_up():
            self.cancelled += 1
            over.set()

        # Not after the yield: the library does not resume a call that ended while it sent.
        context.add_callback(given_up)
        yield b"waiting"
        over.wait(2 * PATIENCE)

    def how_many(self, request, context):
        return str(self.cancelled).encode()


def serve():
    server = grpc.server(futures.ThreadPoolExecutor(16))
    server.add_generic_rpc_handlers((Echo(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    server.wait_for_termination()


def ask(port, certificate):
    with open(certificate, "rb") as file:
        trust = grpc.ssl_channel_credentials(file.read())
    options = [("grpc.max_receive_message_length", 2 * LARGE)]
    with grpc.secure_channel(f"localhost:{port}", trust, options) as channel:
        calls = {
            "unary": unary,
            "large": large,
            "down": down,
            "up": up,
            "both": both,
            "refuse": refuse,
            "half": half,
            "unknown": unknown,
            "deadline": deadline,
            "cancel": cancel,
            "again": unary,
        }
        said = {name: call(channel) for name, call in calls.items()}
    json.dump(said, sys.stdout)


def unary(channel):
    call = channel.unary_unary(SERVICE + "Unary")
    answer, told = call.with_call(b"hello", metadata=(("x-mine", "own"),), timeout=PATIENCE)
    first, last = dict(told.initial_metadata()), dict(told.trailing_metadata())
    return [answer.decode(), first.get("x-first"), last.get("x-last"), last.get("x-last-bin", b"").hex()]


def large(channel):
    message = bytes(range(256)) * (LARGE // 256)
    return channel.unary_unary(SERVICE + "Unary")(message, timeout=PATIENCE) == message


def down(channel):
    return [answer.decode() for answer in channel.unary_stream(SERVICE + "Down")(b"5", timeout=PATIENCE)]


def up(channel):
    pieces = (b"x" * 1000 for _ in range(300))
    return channel.stream_unary(SERVICE + "Up")(pieces, timeout=PATIENCE).decode()


def both(channel):
    """Each message answers the one before, so holding one back blocks all."""
    sent = threading.Semaphore(1)

    def ours():
        for number in range(RALLIES):
            sent.acquire()
            yield str(number).encode()

    heard = []
    for answer in channel.stream_stream(SERVICE + "Both")(ours(), timeout=PATIENCE):
        heard.append(answer.decode())
        sent.release()
    return len(heard), heard[-1]


def failed(run):
    try:
        return [run(), None]
    except grpc.RpcError as error:
        return [error.code().name, error.details()]


def refuse(channel):
    return failed(lambda: channel.unary_unary(SERVICE + "Refuse")(b"", timeout=PATIENCE))


def unknown(channel):
    return failed(lambda: channel.unary_unary(SERVICE + "None")(b"", timeout=PATIENCE))[0]


def half(channel):
    answers = channel.unary_stream(SERVICE + "Half")(b"", timeout=PATIENCE)
    return next(answers).decode(), failed(lambda: next(answers))


def deadline(channel):
    answers = channel.unary_stream(SERVICE + "Wait")(b"", timeout=1)
    next(answers)
    return failed(lambda: next(answers))[0], seen(channel, 1)


def cancel(channel):
    answers = channel.unary_stream(SERVICE + "Wait")(b"", timeout=PATIENCE)
    next(answers)
    answers.cancel()
    return failed(lambda: next(answers))[0], seen(channel, 2)


def seen(channel, wanted):
    """How many calls the server saw cancelled; waits until it is as many as wanted."""
    for _ in range(PATIENCE * 20):
        count = int(channel.unary_unary(SERVICE + "Cancelled")(b"", timeout=PATIENCE))
        if count >= wanted:
            return count
        time.sleep(0.05)
    return count


if sys.argv[1] == "serve":
    serve()
else:
    ask(*sys.argv[2:])
