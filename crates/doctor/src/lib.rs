//! What this machine, or an unpacked container image, can do for latency.
//!
//! [`examine`] reads files and asks the kernel, and returns [`Check`]s: what was found, what it
//! means in milliseconds or round trips, and how to change it. It sends nothing and changes
//! nothing. The binary parses flags and writes to the terminal; [`render`] and [`DoctorReport`]
//! produce the text and the JSON.
//!
//! The parts: `Root` reads files without ever leaving the examined directory, `Probes` holds the
//! kernel's answers, `ExaminedSystem` combines both, and each file in `checks/` is a pure function
//! of the scene.

mod check;
mod checks;
mod error;
mod kernel;
mod netlink;
mod packages;
mod probes;
mod report;
mod root;
mod scan;
mod scene;
mod text;
mod version;

use std::path::Path;

pub use check::{Area, Check, CheckStatus};
pub use error::DoctorError;
pub use report::{DoctorReport, SCHEMA, StatusCounts};
pub use text::render;

/// Examines the running machine, or with `root` the unpacked image in that directory.
///
/// An image has files but no kernel: only its libraries, certificates and resolver settings are
/// examined, and no symbolic link is followed out of it.
pub fn examine(root: Option<&Path>) -> Result<Vec<Check>, DoctorError> {
    let scene = match root {
        Some(directory) => scene::ExaminedSystem::image(directory)?,
        None => scene::ExaminedSystem::machine()?,
    };
    Ok(checks::all(&scene))
}
