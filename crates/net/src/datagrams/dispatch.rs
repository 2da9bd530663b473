//! Sends a parcel as a whole or datagram by datagram, and decides which errors concern the caller.

use std::cell::Cell;
use std::io;

use super::{MAX_PARCEL_BYTES, MAX_SEGMENTS, Parcel};

/// Whether a datagram, or a segment, was longer than the device can carry (`EMSGSIZE`).
pub fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMSGSIZE)
}

/// Sends with `call(bytes, segment length)` and returns how many datagrams the kernel accepted.
/// Sets `most` to 1 if segmentation is refused.
pub(super) fn dispatch(
    parcel: &Parcel<'_>,
    most: &Cell<usize>,
    mut call: impl FnMut(&[u8], Option<u16>) -> io::Result<()>,
) -> io::Result<usize> {
    let bytes = parcel.bytes;
    let Some((first, rest)) = bytes.split_at_checked(parcel.segment) else {
        return attempt(|| call(bytes, None)).map(|()| 1);
    };
    if rest.is_empty() {
        return attempt(|| call(bytes, None)).map(|()| 1);
    }
    let count = bytes.len().div_ceil(parcel.segment.max(1));
    let length = u16::try_from(parcel.segment).unwrap_or_default();
    if length == 0 || count > MAX_SEGMENTS || bytes.len() > MAX_PARCEL_BYTES {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let is_cut = most.get() > 1;
    if is_cut {
        match attempt(|| call(bytes, Some(length))) {
            Err(error) if is_refusal(&error) => {}
            other => return other.map(|()| count),
        }
    }
    attempt(|| call(first, None))?;
    // The same datagram could be sent alone, so segmentation was the problem.
    most.set(1);
    let mut sent = 1;
    for datagram in rest.chunks(parcel.segment) {
        match attempt(|| call(datagram, None)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            other => other?,
        }
        sent += 1;
    }
    Ok(sent)
}

/// Calls, and tries once more if the error was about an earlier datagram.
pub(super) fn attempt<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let outcome = match call() {
        Err(error) if can_be_about_an_earlier_datagram(&error) => call(),
        other => other,
    };
    outcome.map_err(|error| match error.raw_os_error() {
        // Another ICMP error arrived in between. A short wait is right for this as well.
        Some(libc::ENOBUFS | libc::ECONNREFUSED | libc::EINTR) => io::ErrorKind::WouldBlock.into(),
        _ => error,
    })
}

/// The error about the peer, if it comes from ICMP or from the routing table: that no socket
/// listens there, or that nothing arrives there (`icmp_err_convert`, `icmpv6_err_convert`).
pub(super) fn unreachable(error: &io::Error) -> Option<io::ErrorKind> {
    match error.raw_os_error()? {
        libc::ECONNREFUSED => Some(io::ErrorKind::ConnectionRefused),
        libc::ENETUNREACH => Some(io::ErrorKind::NetworkUnreachable),
        libc::EHOSTUNREACH | libc::EHOSTDOWN | libc::ENONET | libc::ENOPROTOOPT | libc::EACCES => {
            Some(io::ErrorKind::HostUnreachable)
        }
        _ => None,
    }
}

/// Whether the error can come from an ICMP message about an earlier datagram (`icmp_err_convert`).
/// The kernel reports each once.
fn can_be_about_an_earlier_datagram(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ECONNREFUSED
                | libc::EHOSTUNREACH
                | libc::ENETUNREACH
                | libc::EHOSTDOWN
                | libc::ENONET
                | libc::ENOPROTOOPT
                | libc::EACCES
                | libc::EPROTO
                | libc::EMSGSIZE
                | libc::EINTR
        )
    )
}

/// Whether segmentation was refused. `EIO`: the device cannot compute checksums of segments, and
/// the kernel does not do it before 6.11. `EINVAL`: it cannot segment, or another argument is
/// wrong.
fn is_refusal(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EIO | libc::EINVAL | libc::EOPNOTSUPP | libc::ENOPROTOOPT)
    )
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use super::*;

    fn parcel(bytes: &[u8], segment: usize) -> Parcel<'_> {
        Parcel {
            to: SocketAddr::from((Ipv4Addr::LOCALHOST, 9)),
            from: None,
            ecn: 0,
            segment,
            bytes,
        }
    }

    fn error(code: i32) -> io::Error {
        io::Error::from_raw_os_error(code)
    }

    /// Runs a dispatch whose calls end as `outcomes` say and then succeed; returns the calls and
    /// the result.
    fn run(
        parcel: &Parcel<'_>,
        most: &Cell<usize>,
        outcomes: &[i32],
    ) -> (Vec<(usize, Option<u16>)>, io::Result<usize>) {
        let mut calls = Vec::new();
        let outcome = dispatch(parcel, most, |bytes, segment| {
            calls.push((bytes.len(), segment));
            match outcomes.get(calls.len() - 1) {
                None | Some(0) => Ok(()),
                Some(code) => Err(error(*code)),
            }
        });
        (calls, outcome)
    }

    #[test]
    fn a_parcel_of_any_length_is_one_call() {
        for (length, segment, said, count) in [
            (2500, 1200, Some(1200), 3),
            (2400, 1200, Some(1200), 2),
            (1200, 1200, None, 1),
            (10, 1200, None, 1),
            (0, 0, None, 1),
            (9, usize::MAX, None, 1),
        ] {
            let bytes = vec![0; length];
            let most = Cell::new(MAX_SEGMENTS);
            let (calls, sent) = run(&parcel(&bytes, segment), &most, &[]);
            assert_eq!(calls, [(length, said)]);
            assert_eq!((sent.unwrap(), most.get()), (count, MAX_SEGMENTS));
        }
    }

    #[test]
    fn once_segmentation_is_refused_each_datagram_has_its_call() {
        for refusal in [libc::EIO, libc::EINVAL] {
            let most = Cell::new(MAX_SEGMENTS);
            let bytes = [0; 2500];
            let (calls, sent) = run(&parcel(&bytes, 1200), &most, &[refusal]);
            let singly = [(1200, None), (1200, None), (100, None)];
            assert_eq!(calls, [&[(2500, Some(1200))], &singly[..]].concat());
            assert_eq!((sent.unwrap(), most.get()), (3, 1));
            let (calls, sent) = run(&parcel(&bytes, 1200), &most, &[]);
            assert_eq!((calls, sent.unwrap()), (singly.into(), 3));
        }
    }

    #[test]
    fn an_error_that_a_single_datagram_causes_too_is_not_a_refusal() {
        let most = Cell::new(MAX_SEGMENTS);
        let outcomes = [libc::EINVAL, libc::EMSGSIZE, libc::EMSGSIZE];
        let (_, sent) = run(&parcel(&[0; 2500], 1200), &most, &outcomes);
        assert!(is_too_long(&sent.unwrap_err()));
        let outcomes = [libc::EINVAL, libc::EINVAL];
        let (_, sent) = run(&parcel(&[0; 2500], 1200), &most, &outcomes);
        assert_eq!(sent.unwrap_err().raw_os_error(), Some(libc::EINVAL));
        assert_eq!(most.get(), MAX_SEGMENTS);
    }

    #[test]
    fn no_room_is_would_block_and_between_datagrams_it_is_loss() {
        for full in [libc::EAGAIN, libc::ENOBUFS] {
            let most = Cell::new(MAX_SEGMENTS);
            let (_, sent) = run(&parcel(&[0; 2500], 1200), &most, &[full]);
            assert_eq!(sent.unwrap_err().kind(), io::ErrorKind::WouldBlock);
            let most = Cell::new(1);
            let (calls, sent) = run(&parcel(&[0; 2500], 1200), &most, &[0, full]);
            assert_eq!((calls.len(), sent.unwrap()), (2, 1));
        }
    }

    #[test]
    fn an_error_about_an_earlier_datagram_is_not_reported() {
        let most = Cell::new(MAX_SEGMENTS);
        for belated in [libc::ECONNREFUSED, libc::EHOSTUNREACH, libc::EMSGSIZE] {
            let (calls, sent) = run(&parcel(&[0; 9], 1200), &most, &[belated]);
            assert_eq!((calls.len(), sent.unwrap()), (2, 1));
        }
        // An error about this datagram occurs again.
        for lasting in [libc::ENETUNREACH, libc::EMSGSIZE] {
            let (_, sent) = run(&parcel(&[0; 9], 1200), &most, &[lasting, lasting]);
            assert_eq!(sent.unwrap_err().raw_os_error(), Some(lasting));
        }
        let twice = [libc::ECONNREFUSED, libc::ECONNREFUSED];
        let (_, sent) = run(&parcel(&[0; 9], 1200), &most, &twice);
        assert_eq!(sent.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn bounds_are_checked_before_the_call() {
        for (length, segment) in [
            (MAX_SEGMENTS * 10 + 1, 10),
            (MAX_PARCEL_BYTES + 1, 60_000),
            (9, 0),
        ] {
            let most = Cell::new(MAX_SEGMENTS);
            let (calls, sent) = run(&parcel(&vec![0; length], segment), &most, &[]);
            assert_eq!(sent.unwrap_err().kind(), io::ErrorKind::InvalidInput);
            assert!(calls.is_empty());
        }
    }
}
