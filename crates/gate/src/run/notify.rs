//! Notifies the service manager, if there is one: sd_notify(3).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Reports the state to the service manager, if there is one. Failures are ignored.
pub(super) fn notify(state: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let _ = tell(name.as_encoded_bytes(), state);
}

fn tell(name: &[u8], state: &str) -> std::io::Result<()> {
    let address = match name.split_first() {
        Some((b'@', rest)) => SocketAddr::from_abstract_name(rest)?,
        _ => {
            use std::os::unix::ffi::OsStrExt;
            SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(name))?
        }
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address)?;
    Ok(())
}

/// Reports a reload; the message RELOADING must contain the time when it began.
pub(super) fn reloading() {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let microseconds = now.tv_sec * 1_000_000 + now.tv_nsec / 1000;
    notify(&format!("RELOADING=1\nMONOTONIC_USEC={microseconds}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_manager_is_notified() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let listening = UnixDatagram::bind(&path).unwrap();
        tell(path.as_os_str().as_encoded_bytes(), "READY=1").unwrap();
        let mut room = [0; 64];
        let n = listening.recv(&mut room).unwrap();
        assert_eq!(&room[..n], b"READY=1");
        assert!(tell(b"/nowhere/at/all", "READY=1").is_err());
    }
}
