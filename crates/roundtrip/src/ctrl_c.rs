//! Ctrl-C: the first one stops the measurement and shows the results so far; the second ends the
//! process. Servers end at the first.

use std::io;
use std::thread;

use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Calls `stop` at the first Ctrl-C. This starts another thread, so do anything that needs a
/// single-threaded process first.
pub(crate) fn at_the_first(stop: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    // The handler is registered here, so that it misses no Ctrl-C.
    let mut told = {
        let _inside = runtime.enter();
        signal(SignalKind::interrupt())?
    };
    let waiting = move || {
        runtime.block_on(async {
            told.recv().await;
            stop();
            told.recv().await;
            std::process::exit(1);
        });
    };
    thread::Builder::new()
        .name("ctrl-c".into())
        .spawn(waiting)
        .map(drop)
}

/// Ctrl-C and SIGTERM. No signal after [`Stop::listen`] is missed, even if it arrives between two
/// waits.
pub(crate) struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    pub(crate) async fn told(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Ends at the first Ctrl-C or SIGTERM.
pub(crate) async fn told_to_stop() {
    if let Ok(mut stop) = Stop::listen() {
        stop.told().await;
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, id};

    use super::*;

    /// A signal that arrives between two waits must not be lost.
    #[tokio::test]
    async fn a_signal_is_heard_although_nobody_waits() {
        let mut stop = Stop::listen().unwrap();
        for name in ["-INT", "-TERM"] {
            let waits = std::time::Duration::from_millis(1);
            let waited = tokio::time::timeout(waits, stop.told()).await;
            assert!(waited.is_err(), "{name} came before it was sent");
            let sent = Command::new("kill")
                .args([name, &id().to_string()])
                .status();
            assert!(sent.unwrap().success());
            stop.told().await;
        }
    }
}
