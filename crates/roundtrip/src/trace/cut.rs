//! `--write`: the frames of what is shown, in a separate capture, with comments.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use roundtrip_trace::Cut;
use roundtrip_wire::capture::CaptureItem;
use roundtrip_wire::key_log::KeyLog;
use roundtrip_wire::pcapng::{Captured, Interface, PcapngWriter, Section};

use super::source::CaptureSource;

/// Reads the capture again, and writes the packets of the cut (with `only`, those of this
/// interface), with the secrets of its connections. Returns how many packets that were.
pub(super) fn write(
    (from, only): (&Path, Option<u32>),
    to: &Path,
    mut cut: Cut,
    keys: Option<&KeyLog>,
) -> io::Result<u64> {
    if same(from, to) {
        let error = "this is the capture that is being read";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
    }
    let mut source = CaptureSource::open(from)?;
    let mut into = Into::new(to)?;
    let secrets = keys.map_or(String::new(), |keys| cut.secrets(keys));
    if !secrets.is_empty() {
        into.writer.secrets(secrets.as_bytes()).map_err(refused)?;
    }
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
                // They were written already.
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

/// Whether both paths lead to the same file, which may have several names.
fn same(from: &Path, to: &Path) -> bool {
    match (from.metadata(), to.metadata()) {
        (Ok(from), Ok(to)) => (from.dev(), from.ino()) == (to.dev(), to.ino()),
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

    /// Writes an interface. All are written, so that they keep their numbers.
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
