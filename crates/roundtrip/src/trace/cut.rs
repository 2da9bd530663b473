//! `--write`: the frames of what is shown, in a separate capture, with comments.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use roundtrip_trace::Cut;
use roundtrip_wire::capture::CaptureItem;
use roundtrip_wire::pcapng::{Captured, Interface, PcapngWriter, Section};

use super::source::CaptureSource;

/// Reads the capture again, and writes the packets of the cut (with `only`, those of this
/// interface), with the secrets of its connections from the key logs and the capture; `late` are
/// those that the capture has after packets. Returns how many packets that were.
pub(super) fn write(
    (from, only): (&Path, Option<u32>),
    to: &Path,
    mut cut: Cut,
    (keys, late): (&[PathBuf], &[u8]),
) -> io::Result<u64> {
    if same(from, to) {
        let error = "this is the capture that is being read";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
    }
    let mut source = CaptureSource::open(from)?;
    let mut into = Into::new(to)?;
    for log in keys {
        into.secrets(&cut.secrets(&fs::read(log)?))?;
    }
    into.secrets(&cut.secrets(late))?;
    let (mut frame, mut count, mut trouble) = (0, 0, None);
    loop {
        let more = source.read(&mut |item| {
            if trouble.is_some() {
                return;
            }
            match item {
                CaptureItem::Packet(captured) => {
                    frame += 1;
                    if only.is_some_and(|only| only != captured.interface) {
                        return;
                    }
                    if let Some(comments) = cut.take(frame, &captured) {
                        count += 1;
                        trouble = into.packet(&captured, comments).err();
                    }
                }
                // Those after packets were written already.
                CaptureItem::Secrets(lines) if frame == 0 => {
                    trouble = into.secrets(&cut.secrets(lines)).err();
                }
                CaptureItem::Secrets(_) => {}
                CaptureItem::Interface(interface) => trouble = into.interface(&interface).err(),
            }
        });
        if let Some(error) = trouble.take() {
            return Err(error);
        }
        // If it breaks off, the first reading has reported it.
        if !matches!(more, Ok(true)) {
            into.file.flush()?;
            return Ok(count);
        }
    }
}

fn same(from: &Path, to: &Path) -> bool {
    match (from.canonicalize(), to.canonicalize()) {
        (Ok(from), Ok(to)) => from == to,
        _ => false,
    }
}

struct Into {
    file: BufWriter<File>,
    writer: PcapngWriter,
    interfaces: u32,
}

impl Into {
    fn new(path: &Path) -> io::Result<Self> {
        let section = Section {
            application: Some(concat!("roundtrip ", env!("CARGO_PKG_VERSION")).into()),
            ..Section::default()
        };
        Ok(Self {
            file: BufWriter::new(File::create(path)?),
            writer: PcapngWriter::new(&section).map_err(refused)?,
            interfaces: 0,
        })
    }

    fn secrets(&mut self, lines: &[u8]) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        self.writer.secrets(lines).map_err(refused)
    }

    /// All interfaces are written, so that they keep their numbers.
    fn interface(&mut self, interface: &Interface<'_>) -> io::Result<()> {
        self.writer.interface(interface).map_err(refused)?;
        self.interfaces += 1;
        Ok(())
    }

    fn packet(&mut self, captured: &Captured<'_>, comments: Vec<String>) -> io::Result<()> {
        // The older format does not name its only one.
        if self.interfaces == 0 {
            self.interface(&Interface {
                link: captured.link,
                snap_length: 0,
                name: None,
                description: None,
                comments: Vec::new(),
            })?;
        }
        let own = comments.into_iter().map(Cow::Owned);
        let packet = Captured {
            comments: own.chain(captured.comments.iter().cloned()).collect(),
            ..captured.clone()
        };
        self.writer.packet(&packet).map_err(refused)?;
        self.file.write_all(&self.writer.take())
    }
}

fn refused(error: roundtrip_wire::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
