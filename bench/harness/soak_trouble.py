"""Trouble while clients make requests: a seeded sequence of events, each with what must hold after it."""

import random
import signal
import threading
import time

from harness import tools
from harness.soak_stage import SETTLED, STORE_KNOWN, TAKEN

BEFORE = 0.5  # requests in flight when it began may fail as well
BROKEN = "[listen]\nhttp = \"nowhere\"\n[route\n"


class Trouble:
    def __init__(self, stage, scene, seed):
        self.stage, self.scene, self.book = stage, scene, scene.book
        self.random, self.done, self.reloads = random.Random(seed), {}, 0

    def start(self):
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        events = [self.revoke, self.change, self.reload, self.backend, self.certificate, self.stop_store, self.reload, self.revoke, self.kill_store, self.revoke_at_once,
                  self.reload, self.backend, self.reload_nginx]
        try:
            while True:
                for event in self.random.sample(events, len(events)):
                    if self.scene.over.wait(self.random.uniform(0.5, 1.5) * 2):
                        return
                    event()
        except Exception as error:
            self.book.is_wrong("trouble could not be made", repr(error))

    def wait(self, least, most):
        self.scene.over.wait(self.random.uniform(least, most))

    def count(self, what):
        tools.say(f"{time.strftime('%H:%M:%S')} {what}")
        self.done[what] = self.done.get(what, 0) + 1

    def revoke(self, within=None):
        """Revokes the session that clients use now; its successor exists before that."""
        self.count("session revoked")
        session, self.scene.passing = self.scene.passing, self.stage.session("passing")
        # Clients continue to use revoked sessions.
        self.scene.gone.append(session)
        self.wait(0.1, 0.5)
        self.stage.revoke(session, within)

    def change(self):
        self.count("session changed")
        self.stage.change(self.random.choice(self.scene.sessions))

    def reload(self):
        self.reloads += 1
        if self.reloads % 3 == 0:
            self.count("SIGHUP with a broken file")
            self.stage.config().write_text(BROKEN)
            self.stage.hang_up()
            self.wait(1, 2)
            if (found := self.stage.settings_in_force(self.scene.sessions[0])) != str(self.stage.settings):
                self.book.is_wrong("broken file taken", f"settings {found} instead of {self.stage.settings}")
            self.stage.config().write_text(self.stage.text())
            return
        self.count("SIGHUP with new settings")
        self.stage.settings += 1
        self.stage.config().write_text(self.stage.text())
        self.stage.hang_up()
        until = time.monotonic() + TAKEN
        while (found := self.stage.settings_in_force(self.scene.sessions[0])) != str(self.stage.settings):
            if time.monotonic() > until:
                return self.book.is_wrong("reload not taken", f"settings {found} instead of {self.stage.settings} after {TAKEN} s")
            time.sleep(0.1)

    def backend(self):
        name = self.random.choice(list(self.stage.ports))
        self.count("backend killed and restarted")
        began = time.monotonic()
        self.book.trouble(began - BEFORE, began + 3600, "backend")
        self.stage.kill(name)
        self.wait(1, 4)
        self.stage.start_backend(name)
        self.book.over(began - BEFORE, time.monotonic() + SETTLED)

    def reload_nginx(self):
        """Its connections end gracefully (RFC 9113 §6.8), so no request may fail."""
        self.count("HTTP/2 server reloaded")
        self.stage.running["nginx"].send_signal(signal.SIGHUP)

    def certificate(self):
        self.count("certificate replaced")
        self.stage.replace_certificate()
        self.scene.certificate = self.stage.serial

    def stop_store(self, then=None):
        self.count("store stopped and continued")
        store, began = self.stage.running["store"], time.monotonic()
        self.book.trouble(began - BEFORE, began + 3600, "store")
        store.send_signal(signal.SIGSTOP)
        self.without_store()
        store.send_signal(signal.SIGCONT)
        if then:
            then()
        self.book.over(began - BEFORE, time.monotonic() + SETTLED)
        self.scene.over.wait(STORE_KNOWN)

    def kill_store(self, then=None):
        self.count("store killed and restarted")
        began = time.monotonic()
        self.book.trouble(began - BEFORE, began + 3600, "store")
        self.stage.kill("store")
        self.without_store()
        self.stage.start_store()
        if then:
            then()
        self.book.over(began - BEFORE, time.monotonic() + SETTLED)
        self.scene.over.wait(STORE_KNOWN)

    def without_store(self):
        """Stops the store for some seconds, and reloads the configuration meanwhile."""
        self.wait(1, 4)
        if self.random.random() < 0.5:
            self.reload()

    def revoke_at_once(self):
        """Revokes a session as soon as the store is back: gate must have learnt of it when its connections are back."""
        self.random.choice([self.kill_store, self.stop_store])(lambda: self.revoke(STORE_KNOWN))
