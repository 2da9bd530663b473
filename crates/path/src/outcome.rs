//! How a forked child reports its result: one message with a step and an error code, or with
//! descriptors.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};

use crate::error::PathError;
use crate::refusal::NamespaceRefusal;
use crate::step::SetupStep;
use crate::syscall::child::Child;
use crate::syscall::descriptor;

/// The step that failed in the child, and the error. Created and sent without allocating.
#[derive(Debug)]
pub(crate) struct ChildFailure {
    step: SetupStep,
    code: i32,
}

impl ChildFailure {
    /// Converts an error into a failure of `step`, for `map_err`.
    pub(crate) fn at(step: SetupStep) -> impl Fn(io::Error) -> Self {
        move |error| Self {
            step,
            code: error.raw_os_error().unwrap_or(libc::EIO),
        }
    }
}

impl From<ChildFailure> for PathError {
    fn from(ChildFailure { step, code }: ChildFailure) -> Self {
        let source = io::Error::from_raw_os_error(code);
        if step.needs_permission() {
            Self::Refused {
                step,
                refusal: NamespaceRefusal::diagnose(step, &source),
                source,
            }
        } else {
            Self::Setup { step, source }
        }
    }
}

impl From<ChildFailure> for io::Error {
    fn from(failure: ChildFailure) -> Self {
        Self::from_raw_os_error(failure.code)
    }
}

/// Reports success and hands over the descriptors. Called in the child.
pub(crate) fn tell_success(
    line: BorrowedFd<'_>,
    descriptors: &[RawFd],
) -> Result<(), ChildFailure> {
    descriptor::send_descriptors(line, b"done", descriptors)
        .map_err(ChildFailure::at(SetupStep::HandOver))
}

/// In the child: reports a failure. If even that fails, the parent sees the connection close.
pub(crate) fn tell_failure(line: BorrowedFd<'_>, failure: &ChildFailure) {
    let [a, b, c, d] = failure.code.to_le_bytes();
    let _ = descriptor::send_descriptors(line, &[failure.step as u8, a, b, c, d], &[]);
}

/// Waits for either report. Called in the parent.
pub(crate) fn await_outcome(child: &Child) -> Result<Vec<OwnedFd>, PathError> {
    let mut message = [0; 8];
    let hand_over = |source| PathError::Setup {
        step: SetupStep::HandOver,
        source,
    };
    let (length, descriptors) = child.receive(&mut message).map_err(hand_over)?;
    match message.get(..length) {
        Some(b"done") => Ok(descriptors),
        Some(&[step, a, b, c, d]) => Err(match SetupStep::told(step) {
            Some(step) => ChildFailure {
                step,
                code: i32::from_le_bytes([a, b, c, d]),
            }
            .into(),
            None => hand_over(io::ErrorKind::InvalidData.into()),
        }),
        _ => Err(hand_over(io::ErrorKind::UnexpectedEof.into())),
    }
}
