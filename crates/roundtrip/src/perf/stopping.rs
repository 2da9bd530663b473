//! Ctrl-C: the first gives up what is being measured, and shows what there is; the second ends all.

use std::io;
use std::thread;

use roundtrip_perf::Stop;
use tokio::runtime::Builder;

/// From here on there is another thread: whatever wants to be alone has to come first.
pub(super) fn when_told(stop: &Stop) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    // Registered here, so that no Ctrl-C comes too early.
    let mut told = {
        let _inside = runtime.enter();
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?
    };
    let stop = stop.clone();
    let waiting = move || {
        runtime.block_on(async {
            told.recv().await;
            stop.now();
            told.recv().await;
            std::process::exit(1);
        });
    };
    thread::Builder::new()
        .name("ctrl-c".into())
        .spawn(waiting)
        .map(drop)
}
