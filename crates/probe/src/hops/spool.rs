//! Buffers a body until it is known whether it belongs to the last hop.

use std::io::Write;

use roundtrip_http::Sink;

/// Holds back the body of a response that may turn out to be a redirect.
pub(crate) struct Spool<'a> {
    held: Option<Vec<u8>>,
    sink: &'a mut dyn Sink,
}

/// The longest body that is buffered; redirects have smaller ones.
const MAX_SPOOLED_BODY: usize = 1 << 20;

impl<'a> Spool<'a> {
    /// Holds the body back if `hold`, otherwise passes it on at once.
    pub(crate) fn new(hold: bool, sink: &'a mut dyn Sink) -> Self {
        Self {
            held: hold.then(Vec::new),
            sink,
        }
    }

    /// Passes on the part that was held back.
    pub(crate) fn release(mut self) -> std::io::Result<()> {
        if let Some(held) = self.held.take() {
            self.sink.write_all(&held)?;
        }
        self.sink.flush()
    }
}

impl Write for Spool<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.held {
            Some(held) if held.len() + bytes.len() <= MAX_SPOOLED_BODY => {
                held.extend_from_slice(bytes);
                Ok(bytes.len())
            }
            Some(held) => {
                let held = std::mem::take(held);
                self.held = None;
                self.sink.write_all(&held)?;
                self.sink.write(bytes)
            }
            None => self.sink.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
