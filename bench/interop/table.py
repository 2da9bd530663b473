"""The recorded matrix: a table in docs/quic-interop.md, between two marks."""

import datetime

from interop.cases import MEASURED

BEGIN, END = "<!-- matrix: written by scripts/interop --record -->", "<!-- end of the matrix -->"


def record(file, versions, cases, results):
    before, rest = file.read_text().split(BEGIN)
    _, after = rest.split(END)
    file.write_text(f"{before}{BEGIN}\n\n{markdown(versions, cases, results)}\n{END}{after}")


def markdown(versions, cases, results):
    pairs = list(dict.fromkeys((result["client"], result["server"]) for result in results))
    by_game = {(result["case"], result["client"], result["server"]): result for result in results}
    holes = []
    lines = ["| case | " + " | ".join(title(*pair) for pair in pairs) + " |", "|---" * (len(pairs) + 1) + "|"]
    for case in cases:
        cells = [cell(by_game[case.name, *pair], holes) for pair in pairs]
        lines.append(f"| {case.name} | " + " | ".join(cells) + " |")
    passed = sum(result["outcome"] == "passed" for result in results)
    said = [f"{passed} of {len(results)} games passed on {datetime.date.today():%-d %B %Y}: " + ", ".join(versions.values()) + "."]
    notes = [f"{number}. {reason}" for number, reason in enumerate(holes, 1)]
    return "\n".join([*said, "", *lines, "", *notes]) + "\n"


def title(client, server):
    if client == server:
        return "ours both"
    return f"{server} serves" if client == "roundtrip" else f"{client} asks"


def cell(result, reasons):
    if result["outcome"] == "passed":
        return f"{result['kbit/s'] / 1000:.1f}" if result["case"] in MEASURED else "✓"
    reason = result["reason"] if result["outcome"] == "hole" else f"{result['case']}: {result['client']} asks {result['server']}: {result['reason']}"
    if reason not in reasons:
        reasons.append(reason)
    mark = "–" if result["outcome"] == "hole" else "✗"
    return f"{mark} ({reasons.index(reason) + 1})"
