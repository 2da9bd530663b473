"""What the clients of a soak saw, and how often something forbidden happened: the counts of all threads together."""

import collections
import itertools
import threading
import time

REVOKED_WITHIN = 0.1  # what gate promises, in seconds
MARGIN = 0.3  # in addition, for a machine that is busy with other work
UNKNOWN = ["bad token", "revoked", "revoked events", "login"]  # the kinds of clients for which the store has to be asked
KEPT = 5  # examples kept of each kind of error


class Session:
    """A token in a field, the session that it names ("" if gate must refuse it), and when its revocation was
    confirmed.
    """

    def __init__(self, sid, field, token):
        self.sid, self.field, self.token = sid, field, token
        self.leaving, self.revoked, self.within = False, None, REVOKED_WITHIN + MARGIN
        self.user, self.former, self.changed = sid, None, None  # the users whose credentials it has had, and since when

    def is_of(self, user, sent):
        """Whether a request sent at that time may have been forwarded with this user's credentials."""
        return user == self.user or user == self.former and self.ends(sent)

    def ends(self, sent):
        """Whether gate may end a request sent at that time: requests in flight end when a session is revoked
        or its credentials change.
        """
        return self.leaving or (self.former is not None and (self.changed is None or sent <= self.changed + self.within))


class Book:
    def __init__(self, seed):
        self.lock, self.numbers, self.seed = threading.Lock(), itertools.count(1), seed
        self.asked = collections.Counter()  # kind
        self.answered = collections.defaultdict(collections.Counter)  # kind: {status or what happened}
        self.wrong = collections.Counter()  # forbidden events
        self.examples = []
        self.posts = {}  # id: the result for its client
        self.troubles = []  # (from, to, what): times in which failures are expected
        self.failures = []  # (time, kind, what, gate's reason)
        self.late = collections.defaultdict(list)  # kind: seconds after a revocation at which it was still served
        self.ended_after = collections.defaultdict(list)  # kind: seconds from a revocation to the end of an open stream
        self.facts = collections.Counter()

    def identity(self, kind):
        with self.lock:
            self.asked[kind] += 1
            return f"{kind.replace(' ', '-')}-{self.seed}-{next(self.numbers)}"

    def saw(self, kind, what, left=False, why=None):
        """Records an answer's status, or what happened to a request; `left`: the client itself went away."""
        with self.lock:
            self.answered[kind][what] += 1
            failed = not left and (isinstance(what, str) or what >= 500)
            if failed:
                self.failures.append((time.monotonic(), kind, what, why))

    def post(self, identity, status):
        with self.lock:
            self.posts[identity] = status

    def fact(self, what, count=1):
        with self.lock:
            self.facts[what] += count

    def is_wrong(self, what, why):
        with self.lock:
            self.wrong[what] += 1
            if self.wrong[what] <= KEPT:
                self.examples.append(f"{what}: {why}")

    def trouble(self, begin, end, what):
        with self.lock:
            self.troubles.append((begin, end, what))

    def over(self, begin, end):
        """The trouble that began at that time is over, and its effects may last until `end`."""
        with self.lock:
            self.troubles = [(first, end if first == begin else last, what) for first, last, what in self.troubles]

    def unexplained(self):
        """Failures without trouble that explains them. Requests with known sessions may not fail while only
        the store is down.
        """
        def explained(at, kind, what, _why):
            return any(begin <= at <= end and (missing == "backend" or (what == 503 and kind in UNKNOWN)) for begin, end, missing in self.troubles)
        return [failure for failure in self.failures if not explained(*failure)]

    def served(self, session, sent, heard):
        """Records a 2xx for a session that may have been revoked."""
        if session.revoked is None or sent <= session.revoked:
            return
        with self.lock:
            self.late[session.within].append(sent - session.revoked)
        if sent - session.revoked > session.within:
            self.is_wrong("served after revocation", f"{session.sid}: asked {sent - session.revoked:.3f} s after, answered {heard - sent:.3f} s later")

    def ended(self, session, after):
        with self.lock:
            self.ended_after[session.within].append(after)

    def compare(self, journal):
        """Compares what backends saw with what clients were told: lost and repeated requests."""
        heads, whole = collections.Counter(), collections.Counter()
        for line in journal.read_text().splitlines():
            word, identity, _ = line.split(" ")
            (heads if word == "H" else whole)[identity] += 1
        for identity, status in self.posts.items():
            if heads[identity] > 1:
                self.is_wrong("doubled POST", f"{identity}: {heads[identity]} times, its client got {status}")
            if isinstance(status, int) and status < 300 and not whole[identity]:
                self.is_wrong("lost", f"{identity}: its client got {status}, no backend has it")
        return sum(heads.values())
