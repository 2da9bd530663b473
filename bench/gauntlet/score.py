"""Judges what `probe` said of a case, and adds up."""

import collections
import shutil
import statistics

from harness import ledger, tools

PARTIES = ("network", "server", "client", "resolver", "loss", "unknown")
# A busy machine does not always let the client run; that finding is then true.
BUSY = {"client-starved"}
UNDECIDED = ("late-answer", "late-body")
UNSTEADY = ("lost", "loss", "starved", "throttled", "output", "varies")


def expected(case):
    if case.fail:
        return "fails: " + "|".join(sorted(case.fail))
    return "|".join(sorted(case.want)) or "healthy" + (
        "".join(f" ({x})" for x in sorted(case.allow))
    )


def judge(case, runs):
    """One outcome of a case, by the majority of its runs."""
    seen = [look(case, run) for run in runs]
    good = [one for one in seen if not one["error"]]
    outcome = {
        "name": case.name,
        "healthy": case.is_healthy,
        "expected": expected(case),
        "ms": case.ms,
        "party": case.party,
        "rounds": case.rounds,
        "runs": seen,
    }
    # A run that the gauntlet itself could not make counts as wrong, so that no score profits from it.
    outcome["right"] = 2 * sum(one["right"] for one in seen) > len(seen)
    outcome["cost_right"] = majority(one["cost_right"] for one in good if one["right"])
    outcome["party_right"] = majority(one["party_right"] for one in good)
    # The losses and the times when the client runs differ from run to run, and so may the flights.
    steady = case.is_healthy or not any(word in cause for cause in case.want for word in UNSTEADY)
    counts = [one["rounds"] for one in good if one["rounds"] is not None]
    outcome["rounds_stable"] = (
        None
        if len(counts) < 2 or not any(counts) or not steady
        else len(set(counts)) == 1 and (case.rounds is None or counts[0] == case.rounds)
    )
    return outcome


def majority(answers):
    answers = [answer for answer in answers if answer is not None]
    return None if not answers else 2 * sum(answers) > len(answers)


def look(case, results):
    """What one run says, and whether it is right."""
    if isinstance(results, str) or not results:
        return {
            "error": results or "no result",
            "right": False,
            "first": None,
            "findings": [],
            "rounds": None,
            "cost_right": None,
            "party_right": None,
            "alarms": 0,
            "exchanges": 1,
        }
    findings = (
        sorted(
            (finding for result in results for finding in result["findings"]),
            key=lambda f: -f["ms"],
        )
        if len(results) > 1
        else results[0]["findings"]
    )
    first = findings[0] if findings else None
    failure = next((result["failure"] for result in results if result["failure"]), None)
    party = {
        name: round(sum(result["waited_for"].get(name + "_ms", 0) for result in results), 1)
        for name in PARTIES
    }
    bodies = [
        phase["round_trips"]
        for result in results
        for phase in result["phases"]
        if phase["name"] == "body"
    ]
    seen = {
        "error": None,
        "first": first["id"] if first else None,
        "ms": first["ms"] if first else None,
        "findings": [(finding["id"], finding["ms"]) for finding in findings],
        "failure": f"{failure['kind']} in {failure['phase']}" if failure else None,
        "unexplained": round(sum(result["unexplained_ms"] or 0 for result in results), 1),
        "total": round(sum(result["total_ms"] for result in results), 1),
        "party": party,
        "rounds": sum(bodies) if bodies else None,
        "exchanges": len(results),
        "alarms": sum(
            any(finding["id"] not in case.allow | BUSY for finding in result["findings"])
            for result in results
        ),
        "cost_right": None,
        "party_right": None,
    }
    if case.fail:
        seen["right"] = bool(failure) and failure["kind"] in case.fail
        if case.want:
            seen["right"] = seen["right"] and seen["first"] in case.want
    elif case.want:
        seen["right"] = seen["first"] in case.want
        if case.ms is not None and first:
            seen["cost_right"] = near(first["ms"], case.ms, 0.05)
    else:
        seen["right"] = not seen["alarms"] and not failure
    if case.party:
        name, ms = case.party
        # If nothing shows who was late, no party is charged.
        undecided = party["unknown"] if seen["first"] in UNDECIDED else 0
        seen["party_right"] = near(party[name] + undecided, ms, 0.06)
    return seen


def near(said, true, part):
    return abs(said - true) <= max(4, part * true)


def median_run(outcome):
    """The run that represents the others in the table: one of those that agree with the verdict."""
    alike = [one for one in outcome["runs"] if one["right"] == outcome["right"]] or outcome["runs"]
    return alike[len(alike) // 2]


def line(outcome):
    one = median_run(outcome)
    mark = "ok  " if outcome["right"] else "MISS"
    if one["error"]:
        return f"{mark} {outcome['name']:42} {one['error']}"
    first = f"{one['first']} {one['ms']:.0f} ms" if one["first"] else "nothing"
    party = " ".join(f"{name} {ms:.0f}" for name, ms in one["party"].items() if ms >= 1)
    more = [
        word
        for word, key in (
            ("COST", "cost_right"),
            ("PARTY", "party_right"),
            ("ROUNDS", "rounds_stable"),
        )
        if outcome[key] is False
    ]
    said = f"{one['failure']}, {first}" if one["failure"] else first
    return (
        f"{mark} {outcome['name']:42} {outcome['expected']}: {said}"
        f" ({sum(run['right'] for run in outcome['runs'])} of {len(outcome['runs'])}), unexplained"
        f" {one['unexplained']:.0f} of {one['total']:.0f}; {party}; body RT"
        f" {'/'.join(str(run['rounds']) for run in outcome['runs'])} {' '.join(more)}"
    )


def totals(outcomes):
    told = [one for one in outcomes if not one["healthy"]]
    well = [one for one in outcomes if one["healthy"]]
    runs = [run for one in well for run in one["runs"]]

    def part(of, key):
        counted = [one[key] for one in of if one[key] is not None]
        return [sum(counted), len(counted)]

    return {
        "stories_right": part(told, "right"),
        "healthy_with_alarm": [sum(not one["right"] for one in well), len(well)],
        "healthy_exchanges_with_alarm": [
            sum(run["alarms"] for run in runs),
            sum(run["exchanges"] for run in runs),
        ],
        "cost_right": part(told, "cost_right"),
        "party_right": part(outcomes, "party_right"),
        "body_round_trips_right": part(outcomes, "rounds_stable"),
    }


WORDS = (
    ("stories_right", "stories: the right cause, or the right word for a failure, first"),
    ("healthy_with_alarm", "healthy cases with a finding"),
    ("healthy_exchanges_with_alarm", "healthy exchanges with a finding, each run"),
    ("cost_right", "cost within 5 % or 4 ms, where the name was right and the arithmetic is exact"),
    ("party_right", "milliseconds of the party within 6 % or 4 ms"),
    (
        "body_round_trips_right",
        "round trips of the body the same in each run, and right where known",
    ),
)


def show(outcomes, briefly):
    """Totals, and a table of all cases, as Markdown; briefly: of those that went wrong."""
    sums = totals(outcomes)
    rows = [(words, f"{sums[key][0]} of {sums[key][1]}") for key, words in WORDS]
    parts = [ledger.table(("", "result"), rows)]
    missed = collections.Counter()
    for outcome in outcomes:
        if not outcome["right"]:
            missed[median_run(outcome)["first"] or "nothing"] += 1
    if missed:
        parts.append(
            "What was said instead: "
            + ", ".join(f"{name} {count}" for name, count in missed.most_common())
            + "."
        )
    listed = [one for one in outcomes if not briefly or went_wrong(one)]
    more = ", those that went wrong" if briefly else ""
    for title, chosen in (
        (f"Stories{more}", [one for one in listed if not one["healthy"]]),
        (f"Healthy exchanges{more}", [one for one in listed if one["healthy"]]),
    ):
        if chosen:
            parts.append(
                f"### {title}\n\n"
                + ledger.table(
                    (
                        "case",
                        "expected",
                        "first named",
                        "right",
                        "ms (expected)",
                        "unexplained",
                        "party's ms (expected)",
                        "round trips of the body",
                    ),
                    [row(one) for one in chosen],
                )
            )
    return "\n\n".join(parts)


def went_wrong(outcome):
    return not outcome["right"] or False in (
        outcome["cost_right"],
        outcome["party_right"],
        outcome["rounds_stable"],
    )


def row(outcome):
    one = median_run(outcome)
    right = f"{sum(run['right'] for run in outcome['runs'])} of {len(outcome['runs'])}"
    if one["error"]:
        return (
            outcome["name"],
            outcome["expected"],
            one["error"].replace("\n", " ")[:60],
            right,
            "",
            "",
            "",
            "",
        )
    said = (f"{one['failure']}; " if one["failure"] else "") + (one["first"] or "–")
    ms = "" if one["ms"] is None else f"{one['ms']:.0f}"
    if outcome["ms"] is not None:
        ms += f" ({outcome['ms']:.0f})"
    party = ""
    if outcome["party"]:
        name, true = outcome["party"]
        party = f"{name} {one['party'][name]:.0f} ({true:.0f})"
    rounds = collections.Counter(
        run["rounds"] for run in outcome["runs"] if run["rounds"] is not None
    )
    counted = ", ".join(
        f"{count}" if times == len(outcome["runs"]) else f"{count} in {times}"
        for count, times in rounds.most_common()
    )
    return (
        outcome["name"],
        outcome["expected"].replace("|", " or "),
        said,
        right,
        ms,
        f"{statistics.median(run['unexplained'] for run in outcome['runs'] if not run['error']):.0f}",
        party,
        counted,
    )


def peers():
    """The versions of the programs at the far end."""
    asked = (
        ("nginx", "-v"),
        ("apache2", "-v"),
        ("haproxy", "-v"),
        ("caddy", "version"),
        ("lighttpd", "-v"),
        ("hitch", "--version"),
        ("varnishd", "-V"),
        ("node", "--version"),
        ("squid", "-v"),
        ("tinyproxy", "-v"),
        ("nghttpd", "--version"),
        ("openssl", "version"),
        ("go", "version"),
        ("java", "--version"),
        ("h2o", "--version"),
        ("gunicorn", "--version"),
        ("uvicorn", "--version"),
    )
    return [
        f"{name} {found}" if not found.lower().startswith(name) else found
        for name, *rest in asked
        if shutil.which(name)
        for found in [tools.version(name, *rest)]
    ]
