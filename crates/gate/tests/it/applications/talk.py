"""A WebSocket server by the library of that name: it prints its port, and serves until it is killed.

Echoes messages. /last says how the previous connection ended; /refuse is not a WebSocket.
"""

import asyncio
import http

import websockets

last = [None]


async def talk(socket):
    if socket.path.startswith("/ws/last"):
        await socket.send(str(last[0]))
        return
    try:
        async for message in socket:
            await socket.send(message)
    except websockets.ConnectionClosedError:
        pass
    finally:
        last[0] = socket.close_code


async def look(path, _):
    if path.startswith("/ws/refuse"):
        return http.HTTPStatus.FORBIDDEN, [], b"not here"
    if path.startswith("/ws/plain"):
        return http.HTTPStatus.OK, [], b"no socket"
    return None


async def main():
    async with websockets.serve(talk, "127.0.0.1", 0, process_request=look, subprotocols=["chat"], max_size=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.Future()


asyncio.run(main())
