//! Records how long the user's output blocks. Nothing is read from the connection meanwhile.

use std::io::{self, Write};
use std::time::Duration;

use roundtrip_http::Sink;
use roundtrip_model::{Event, Recorder, Task};

/// The shortest write that counts as blocked.
const MIN_BLOCKED: Duration = Duration::from_millis(1);

/// A sink that records slow writes as work of the client.
pub(crate) struct Output<'a> {
    sink: &'a mut dyn Sink,
    recorder: &'a Recorder,
}

impl<'a> Output<'a> {
    /// Makes an output. `recorder` belongs to the connection: a write delays all its requests.
    pub(crate) fn new(sink: &'a mut dyn Sink, recorder: &'a Recorder) -> Self {
        Self { sink, recorder }
    }

    fn timed<T>(&mut self, write: impl FnOnce(&mut dyn Sink) -> T) -> T {
        let began = self.recorder.now();
        let outcome = write(self.sink);
        let now = self.recorder.now();
        let took = now.since(began);
        if took >= MIN_BLOCKED {
            let task = Task::Write;
            self.recorder.record_at(now, Event::Worked { task, took });
        }
        outcome
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.timed(|sink| sink.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.timed(|sink| sink.flush())
    }
}
