//! The table while it fills: redrawn in place on a terminal, row by row elsewhere.
//!
//! No setting of the terminal is changed, so nothing has to be restored: between two frames the
//! cursor is below the table, and whatever ends the process leaves the terminal in order.

use roundtrip_report::terminal::Style;
use roundtrip_report::text;
use roundtrip_report::ways::{WayRuns, Ways};

use crate::cli::DemoArgs;
use crate::output::{OutputStream, over};

pub(super) struct DemoView {
    stream: OutputStream,
    style: Style,
    manner: DemoOutput,
}

enum DemoOutput {
    /// The last frame, as the terminal shows it.
    Frames(String),
    /// The number of rows that were written; `None` if the head was not written yet.
    Rows(Option<usize>),
    /// The whole table at once, when it is finished.
    Whole,
    Silent,
}

impl DemoView {
    pub(super) fn new(args: &DemoArgs) -> Self {
        let stream = if args.json {
            OutputStream::Err
        } else {
            OutputStream::Out
        };
        let style = stream.style(args.color);
        let manner = match (args.quiet, args.json, stream.is_terminal()) {
            (true, true, _) | (false, true, false) => DemoOutput::Silent,
            (true, false, _) => DemoOutput::Whole,
            (false, _, true) if stream.draws() => DemoOutput::Frames(String::new()),
            (false, ..) => DemoOutput::Rows(None),
        };
        Self {
            stream,
            style,
            manner,
        }
    }

    pub(super) fn show(&mut self, ways: &Ways) {
        match &mut self.manner {
            DemoOutput::Frames(last) => {
                let frame = text::ways(ways, &self.style);
                // A table that does not fit is not redrawn in place: what scrolled away cannot be
                // reached.
                if self.stream.rows() <= frame.lines().count() {
                    self.manner = DemoOutput::Rows(None);
                    return self.show(ways);
                }
                if frame != *last {
                    self.stream.print(over(last, &frame));
                    *last = frame;
                }
            }
            DemoOutput::Rows(written) => {
                let from = written.unwrap_or_else(|| {
                    self.stream.print(text::ways_head(ways, &self.style));
                    0
                });
                *written = Some(from);
                let finished = |way: &&WayRuns| way.done() >= ways.runs;
                let ready = ways.ways.iter().take_while(finished).count();
                for place in from..ready {
                    let row = text::ways_row(ways, place, &self.style);
                    self.stream.print(row);
                    *written = Some(place + 1);
                }
            }
            DemoOutput::Whole | DemoOutput::Silent => {}
        }
    }

    pub(super) fn finish(mut self, ways: &Ways) {
        self.show(ways);
        match self.manner {
            DemoOutput::Rows(_) => self.stream.print(text::ways_ruler(ways, &self.style)),
            DemoOutput::Whole => self.stream.print(text::ways(ways, &self.style)),
            DemoOutput::Frames(_) | DemoOutput::Silent => {}
        }
    }
}
