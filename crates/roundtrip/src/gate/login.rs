//! `user:password`, from a file, the environment or standard input; if it is typed, it is not
//! shown. It is never an argument.

use std::io::{self, BufRead, IsTerminal, Read};
use std::os::fd::AsFd;
use std::path::Path;

use roundtrip_gate::Secret;
use roundtrip_report::clean;
use roundtrip_tls::SecretError;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use crate::cli::SessionPutArgs;
use crate::output::OutputStream;

/// The length of the longest login that is read.
const MAX_LOGIN_LENGTH: u64 = 64 * 1024;

#[derive(Debug, thiserror::Error)]
pub(super) enum LoginError {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("cannot read standard input: {0}")]
    Unreadable(#[from] io::Error),
    #[error("standard input holds no user:password; give one line, or --credentials-file FILE")]
    Nothing,
    #[error("standard input holds more than {MAX_LOGIN_LENGTH} bytes: that is not a user:password")]
    TooLong,
}

pub(super) fn read(args: &SessionPutArgs) -> Result<Secret, LoginError> {
    if let Some(name) = &args.credentials_env {
        return Ok(Secret::from_env(name)?);
    }
    match args.credentials_file.as_deref() {
        Some(path) if path != Path::new("-") => Ok(Secret::from_file(path)?),
        _ if io::stdin().is_terminal() => ask(&args.sid),
        _ => all(io::stdin().lock()),
    }
}

/// Reads everything into a buffer of full capacity, because a buffer that grows would leave copies
/// behind.
fn all(from: impl Read) -> Result<Secret, LoginError> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_LOGIN_LENGTH as usize + 1));
    from.take(MAX_LOGIN_LENGTH + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_LOGIN_LENGTH {
        return Err(LoginError::TooLong);
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(LoginError::Nothing);
    }
    Ok(Secret::new(bytes.to_vec()))
}

fn ask(sid: &str) -> Result<Secret, LoginError> {
    OutputStream::Err.print(format!("user:password for the session {}: ", clean(sid)));
    let typed = {
        let _silence = Silence::begin(io::stdin())?;
        let mut line = Zeroizing::new(Vec::with_capacity(MAX_LOGIN_LENGTH as usize + 1));
        io::stdin()
            .lock()
            .take(MAX_LOGIN_LENGTH)
            .read_until(b'\n', &mut line)?;
        line
    };
    // The terminal did not echo the end of the line either.
    OutputStream::Err.print("\n");
    all(typed.as_slice())
}

/// While this exists, the terminal does not show what is typed.
struct Silence<T: AsFd> {
    terminal: T,
    before: Termios,
}

impl<T: AsFd> Silence<T> {
    fn begin(terminal: T) -> io::Result<Self> {
        let before = tcgetattr(&terminal)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
        Ok(Self { terminal, before })
    }
}

impl<T: AsFd> Drop for Silence<T> {
    fn drop(&mut self) {
        // If the terminal is gone, nothing can be done.
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_login_is_read_and_nothing_is_not_one() {
        let read = |bytes: &[u8]| all(bytes).map(|secret| secret.expose().to_vec());
        assert_eq!(read(b"a:b\n").unwrap(), b"a:b\n");
        assert!(matches!(read(b""), Err(LoginError::Nothing)));
        assert!(matches!(read(b"\n"), Err(LoginError::Nothing)));
        let long = vec![b'a'; MAX_LOGIN_LENGTH as usize + 1];
        assert!(matches!(read(&long), Err(LoginError::TooLong)));
    }
}
