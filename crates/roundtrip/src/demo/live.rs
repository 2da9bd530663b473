//! The table while it fills: redrawn in place on a terminal, row by row elsewhere.
//!
//! Nothing about the terminal is changed that would have to be restored: between two frames the
//! cursor is below the table, so that whatever ends the process leaves the terminal in order.

use roundtrip_report::terminal::Style;
use roundtrip_report::text;
use roundtrip_report::ways::{Way, Ways};

use crate::cli::DemoArgs;
use crate::output::{Stream, over};

pub(super) struct Live {
    stream: Stream,
    style: Style,
    manner: Manner,
}

enum Manner {
    /// The last frame, as the terminal shows it.
    Frames(String),
    /// How many rows were written; `None` before the head was.
    Rows(Option<usize>),
    /// The whole table when it is finished.
    Whole,
    Silent,
}

impl Live {
    pub(super) fn new(args: &DemoArgs) -> Self {
        let stream = if args.json { Stream::Err } else { Stream::Out };
        let style = stream.style(args.color);
        let manner = match (args.quiet, args.json, stream.is_terminal()) {
            (true, true, _) | (false, true, false) => Manner::Silent,
            (true, false, _) => Manner::Whole,
            (false, _, true) if stream.draws() => Manner::Frames(String::new()),
            (false, ..) => Manner::Rows(None),
        };
        Self {
            stream,
            style,
            manner,
        }
    }

    pub(super) fn show(&mut self, ways: &Ways) {
        match &mut self.manner {
            Manner::Frames(last) => {
                let frame = text::ways(ways, &self.style);
                // A table that does not fit is not redrawn in place: what scrolled away cannot be
                // reached.
                if self.stream.rows() <= frame.lines().count() {
                    self.manner = Manner::Rows(None);
                    return self.show(ways);
                }
                if frame != *last {
                    self.stream.print(over(last, &frame));
                    *last = frame;
                }
            }
            Manner::Rows(written) => {
                let from = written.unwrap_or_else(|| {
                    self.stream.print(text::ways_head(ways, &self.style));
                    0
                });
                *written = Some(from);
                let finished = |way: &&Way| way.done() >= ways.runs;
                let ready = ways.ways.iter().take_while(finished).count();
                for place in from..ready {
                    let row = text::ways_row(ways, place, &self.style);
                    self.stream.print(row);
                    *written = Some(place + 1);
                }
            }
            Manner::Whole | Manner::Silent => {}
        }
    }

    pub(super) fn finish(mut self, ways: &Ways) {
        self.show(ways);
        match self.manner {
            Manner::Rows(_) => self.stream.print(text::ways_ruler(ways, &self.style)),
            Manner::Whole => self.stream.print(text::ways(ways, &self.style)),
            Manner::Frames(_) | Manner::Silent => {}
        }
    }
}
