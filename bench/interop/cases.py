"""The cases: those of quic-interop-runner, as paths in the words of `roundtrip path`, with the documents to fetch and
the evidence that must be seen.

A document's name is its size in bytes, so that each is different. A check gets what the judge knows of a game, and
returns what is wrong, or None.
"""

import dataclasses
from collections.abc import Callable

V2 = 0x6B3343CF
BULK = [500_000, 1_000_000, 2_000_000]
USUAL = ["--rtt", "30ms", "--rate", "100mbit"]
SLOW = ["--rtt", "30ms", "--rate", "10mbit", "--queue", "60ms"]


@dataclasses.dataclass
class Case:
    name: str
    sizes: list
    check: Callable
    words: list = dataclasses.field(default_factory=lambda: USUAL)
    protocol: str = "hq-interop"
    seconds: int = 60
    is_v6: bool = False
    long_chain: bool = False
    crosses: bool = False
    connections: int = 1


def none(_):
    return None


def chacha20(game):
    ciphers = [hello["cipher"] for hello in game.hellos]
    return None if ciphers and all("CHACHA20" in cipher for cipher in ciphers) else f"the server chose {ciphers}"


def retry(game):
    tokens = {packet["token"] for packet in game.packets("retry", False)}
    if not tokens:
        return "no Retry"
    returned = {packet["token"] for packet in game.packets("initial", True)}
    return None if tokens & returned else "the Retry's token did not come back"


def resumption(game):
    resumed = [hello["resumed"] for hello in game.hellos]
    return None if resumed == [False, True] else f"resumed: {resumed}"


def zerortt(game):
    if wrong := resumption(game):
        return wrong
    if not any(True for _ in game.packets("0-rtt", True)):
        return "no 0-RTT packet"
    told = [each.get("early_accepted") for each in game.said[-1:]]
    counted = [game.stats["early_requests"] > 0] if game.stats else []
    told = [each for each in told + counted if each is not None]
    return None if all(told) else "0-RTT was not accepted"


def keyupdate(game):
    told = [each["key_updates"] for each in game.said if "key_updates" in each]
    counted = [game.stats["quic_key_updates"]] if game.stats and game.is_ours("server") else []
    return None if told + counted and all(told + counted) else f"key updates: {told + counted}"


def ecn(game):
    """An end that stops marking was not told what arrived: both must mark to the end."""
    silent = [who for who, is_client in [("client", True), ("server", False)]
              if not any(each["ecn"] in (1, 2) for each in game.sent(is_client)[-5:])]
    return f"no mark by the {' and the '.join(silent)}" if silent else None


def amplificationlimit(game):
    if game.most_amplified > 3.0:
        return f"the server sent {game.most_amplified:.2f} times what it had received"
    flight = sum(packet["length"] for packet in game.packets("handshake", False))
    return None if flight > 3600 else f"the server's handshake had only {flight} bytes"


def dropped(game):
    return None if game.marked("lost") else "nothing was lost"


def spoilt(game):
    return None if game.marked("flipped") else "nothing was spoilt"


def ipv6(game):
    return None if all(each["from"].startswith("[2001:2::") for each in game.sent(True)) else "not over IPv6"


def v2(game):
    versions = {packet["version"] for is_client in (True, False) for packet in game.packets("handshake", is_client)}
    return None if versions == {V2} else f"versions: {sorted(map(hex, versions))}"


def rebind_port(game):
    sources = game.sources("server")
    return None if len({port for _, port in sources}) > 1 and len({ip for ip, _ in sources}) == 1 else f"sources: {sources}"


def rebind_addr(game):
    sources = game.sources("server")
    return None if len({ip for ip, _ in sources}) > 1 else f"sources: {sources}"


def migration(game):
    sources = game.sources("client")
    if len(sources) < 2:
        return "the client did not move"
    return None if game.last_destination() != game.first_source() else "the server did not follow"


CASES = [
    Case("handshake", [1000], none),
    Case("transfer", BULK, none),
    Case("longrtt", [1000], none, ["--rtt", "1500ms"]),
    Case("chacha20", [500_000], chacha20),
    Case("multiplexing", list(range(1, 2000)), none),
    Case("retry", [1000], retry),
    Case("resumption", [1000, 2000], resumption, connections=2),
    Case("zerortt", [1000, *range(1, 41)], zerortt, connections=2),
    Case("http3", [1000, 200_000, 500_000], none, protocol="h3"),
    Case("blackhole", [4_000_000], dropped, [*SLOW, "--outage", "2s-4s/60s"]),
    Case("keyupdate", [1_000_000], keyupdate),
    Case("ecn", [1_000_000], ecn),
    Case("amplificationlimit", [5000], amplificationlimit, long_chain=True),
    Case("handshakeloss", list(range(1000, 1010)), dropped, [*USUAL, "--loss", "30%"], seconds=180, connections=10),
    Case("transferloss", [1_000_000], dropped, [*USUAL, "--loss", "2%"]),
    Case("handshakecorruption", list(range(1000, 1010)), spoilt, [*USUAL, "--corrupt", "30%,unnoticed"], seconds=180, connections=10),
    Case("transfercorruption", [1_000_000], spoilt, [*USUAL, "--corrupt", "2%,unnoticed"]),
    Case("ipv6", [500_000], ipv6, is_v6=True),
    Case("v2", [500_000], v2),
    Case("rebind-port", [3_000_000], rebind_port, [*SLOW, "--middlebox", "rebind:1s,port"]),
    Case("rebind-addr", [3_000_000], rebind_addr, [*SLOW, "--middlebox", "rebind:1s"]),
    Case("connectionmigration", [2_000_000], migration, SLOW),
    Case("goodput", [4_000_000], none, SLOW),
    Case("crosstraffic", [4_000_000], none, SLOW, crosses=True),
]
SMOKE = ["handshake", "transfer", "retry", "resumption", "zerortt", "http3"]
MEASURED = ["goodput", "crosstraffic"]
