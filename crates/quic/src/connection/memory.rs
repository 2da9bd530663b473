//! What a connection keeps, and how it follows the budget that it shares with others.

use super::Connection;

impl Connection {
    /// How many bytes the connection keeps because the peer sent them, has not acknowledged them,
    /// or has not been sent them yet. What each connection has from the start is not counted.
    pub fn memory(&self) -> u64 {
        let kept = self.recovery.memory() + self.crypto.memory() + self.undecryptable.memory();
        kept as u64 + self.streams.memory()
    }

    /// Reports to the budget what is kept now. Called when nothing more is to be sent, not for each
    /// packet.
    pub(super) fn follow_budget(&mut self) {
        if !self.account.is_kept() {
            return;
        }
        let memory = self.memory();
        if let Some(budget) = self.account.settle(memory) {
            self.streams.share(&budget);
            self.streams.on_window(self.recovery.window());
        }
    }
}
