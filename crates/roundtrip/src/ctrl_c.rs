//! Ctrl-C: the first one stops the measurement and shows the results so far; the second ends the
//! process. Servers end at the first.

use std::io;
use std::thread;

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// From here on there is another thread: whatever needs a single thread has to come first.
pub(crate) fn at_the_first(stop: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    // Registered here, so that no Ctrl-C comes too early.
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

/// Ends at the first Ctrl-C or SIGTERM.
pub(crate) async fn told_to_stop() {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}
