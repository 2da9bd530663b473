//! What address tokens say, how long they are valid, and that each is accepted once. RFC 9000 §8.1.
//!
//! Their encryption belongs to `crypto`.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use roundtrip_wire::quic::{ConnectionId, Pen, Version};

use crate::Time;
use crate::connection::Random;
use crate::crypto::{TokenKind, TokenSealer};

/// The lifetime of a Retry token. A client answers a Retry at once, so it is short, as RFC 9000
/// §8.1.3 requires.
const RETRY_LIFETIME: Duration = Duration::from_secs(15);
const NEW_LIFETIME: Duration = Duration::from_hours(24);
/// How many used tokens are remembered; when there are more, all tokens issued until then become
/// invalid.
const MAX_USED: usize = 1 << 16;
/// A version, a time, sixteen bytes of address, a port, and two ids with their lengths.
const MAX_CONTENT: usize = 4 + 8 + 16 + 2 + 2 * (1 + ConnectionId::MAX_LENGTH);

/// When and where a token is issued or checked: a token is valid only in the version that it was
/// issued in. RFC 9369 §5.
#[derive(Debug, Clone, Copy)]
pub(super) struct Occasion {
    pub(super) version: Version,
    pub(super) now: Time,
    pub(super) remote: SocketAddr,
}

/// What a token proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// The token proves nothing: it is absent, not ours, or expired.
    None,
    /// A Retry was sent to this client, and this was its original destination.
    Retried { original: ConnectionId },
    /// This address was validated on an earlier connection.
    Known,
    /// A Retry token that is invalid or has expired: the client accepts no second Retry.
    Spoilt,
}

#[derive(Debug, Default)]
pub(super) struct Tokens {
    used: HashSet<u64>,
    /// Tokens issued before this time are invalid.
    floor: Time,
}

/// Makes the token for a Retry with the source connection id `source`.
pub(super) fn seal_retry(
    vault: &TokenSealer,
    random: &mut Random,
    occasion: &Occasion,
    original: &ConnectionId,
    source: &ConnectionId,
) -> Option<Vec<u8>> {
    let Occasion {
        version,
        now,
        remote,
    } = *occasion;
    let mut content = [0; MAX_CONTENT];
    let mut pen = Pen::new(&mut content);
    let mut fits = pen.bytes(&version.0.to_be_bytes())
        && pen.bytes(&now.0.to_be_bytes())
        && pen.bytes(&address_bytes(remote.ip()))
        && pen.u16(remote.port());
    for id in [original, source] {
        fits = fits && pen.u8(id.len() as u8) && pen.bytes(id.as_slice());
    }
    let nonce = nonce(random);
    fits.then(|| vault.seal(TokenKind::Retry, pen.written(), nonce).ok())?
}

/// Makes a token for a NEW_TOKEN frame. The random number distinguishes the token from all others.
pub(super) fn seal_new(
    vault: &TokenSealer,
    random: &mut Random,
    occasion: &Occasion,
) -> Option<Bytes> {
    let content = [
        &occasion.version.0.to_be_bytes()[..],
        &occasion.now.0.to_be_bytes(),
        &address_bytes(occasion.remote.ip()),
        &random.bytes(),
    ]
    .concat();
    let nonce = nonce(random);
    vault
        .seal(TokenKind::New, &content, nonce)
        .ok()
        .map(Bytes::from)
}

impl Tokens {
    /// `destination` is the destination id of the packet that carries the token.
    pub(super) fn check(
        &mut self,
        vault: &TokenSealer,
        token: &[u8],
        occasion: &Occasion,
        destination: &ConnectionId,
    ) -> Proof {
        match vault.open(token) {
            None => Proof::None,
            Some((TokenKind::Retry, content)) => {
                check_retry(&content, occasion, destination).unwrap_or(Proof::Spoilt)
            }
            Some((TokenKind::New, content)) => {
                self.check_new(&content, occasion).unwrap_or(Proof::None)
            }
        }
    }

    fn check_new(&mut self, content: &[u8], occasion: &Occasion) -> Option<Proof> {
        let (now, remote) = (occasion.now, occasion.remote.ip());
        let content = of_version(content, occasion.version)?;
        let (given, rest) = content.split_first_chunk()?;
        let (address, number) = rest.split_first_chunk::<16>()?;
        let given = Time(u64::from_be_bytes(*given));
        let is_good = is_fresh(given, now, NEW_LIFETIME)
            && given >= self.floor
            && *address == address_bytes(remote);
        let number = u64::from_be_bytes(number.try_into().ok()?);
        if !is_good || !self.used.insert(number) {
            return None;
        }
        if self.used.len() >= MAX_USED {
            self.used.clear();
            self.floor = Time(now.0.saturating_add(1));
        }
        Some(Proof::Known)
    }
}

fn check_retry(content: &[u8], occasion: &Occasion, destination: &ConnectionId) -> Option<Proof> {
    let (now, remote) = (occasion.now, occasion.remote);
    let content = of_version(content, occasion.version)?;
    let (given, rest) = content.split_first_chunk()?;
    let (address, rest) = rest.split_first_chunk::<16>()?;
    let (port, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first()?;
    let (original, rest) = rest.split_at_checked(usize::from(*length))?;
    let (_, source) = rest.split_first()?;
    let is_good = is_fresh(Time(u64::from_be_bytes(*given)), now, RETRY_LIFETIME)
        && *address == address_bytes(remote.ip())
        && u16::from_be_bytes(*port) == remote.port()
        && source == destination.as_slice();
    let original = ConnectionId::new(original)?;
    is_good.then_some(Proof::Retried { original })
}

/// Returns what follows the version, if it is `version`.
fn of_version(content: &[u8], version: Version) -> Option<&[u8]> {
    let (given, rest) = content.split_first_chunk()?;
    (u32::from_be_bytes(*given) == version.0).then_some(rest)
}

/// A token issued later than now comes from another clock.
fn is_fresh(given: Time, now: Time, lifetime: Duration) -> bool {
    given <= now && now <= given.after(lifetime)
}

fn address_bytes(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

fn nonce(random: &mut Random) -> [u8; 12] {
    let mut nonce = [0; 12];
    let bytes = random.bytes().into_iter().chain(random.bytes());
    for (to, from) in nonce.iter_mut().zip(bytes) {
        *to = from;
    }
    nonce
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occasion(now: Time, remote: SocketAddr) -> Occasion {
        Occasion {
            version: Version::V1,
            now,
            remote,
        }
    }

    fn id(bytes: &[u8]) -> ConnectionId {
        ConnectionId::new(bytes).unwrap()
    }

    #[test]
    fn a_retry_proves_one_address_for_a_while() {
        let vault = TokenSealer::new([1; 32], [1; 32]).unwrap();
        let mut random = Random::new(&[2; 32]);
        let (client, now) = ("192.0.2.1:1000".parse().unwrap(), Time(5_000_000_000));
        let (original, source) = (id(b"original"), id(b"source"));
        let token = seal_retry(
            &vault,
            &mut random,
            &occasion(now, client),
            &original,
            &source,
        )
        .unwrap();
        let mut tokens = Tokens::default();
        let mut check = |token: &[u8], seconds, client: &str, destination| {
            let now = now.after(Duration::from_secs(seconds));
            let occasion = occasion(now, client.parse().unwrap());
            tokens.check(&vault, token, &occasion, &destination)
        };
        let good = Proof::Retried { original };
        assert_eq!(check(&token, 0, "192.0.2.1:1000", source), good);
        assert_eq!(check(&token, 15, "192.0.2.1:1000", source), good);
        assert_eq!(check(&token, 16, "192.0.2.1:1000", source), Proof::Spoilt);
        assert_eq!(check(&token, 1, "192.0.2.1:1001", source), Proof::Spoilt);
        assert_eq!(check(&token, 1, "192.0.2.2:1000", source), Proof::Spoilt);
        assert_eq!(check(&token, 1, "192.0.2.1:1000", original), Proof::Spoilt);
        assert_eq!(check(&token[1..], 0, "192.0.2.1:1000", source), Proof::None);
        assert_eq!(check(b"", 0, "192.0.2.1:1000", source), Proof::None);
    }

    #[test]
    fn a_token_is_good_in_its_version_alone() {
        let vault = TokenSealer::new([1; 32], [2; 32]).unwrap();
        let mut random = Random::new(&[2; 32]);
        let first = occasion(Time(1), "192.0.2.1:1000".parse().unwrap());
        let second = Occasion {
            version: Version::V2,
            ..first
        };
        let (original, source) = (id(b"original"), id(b"source"));
        let retry = seal_retry(&vault, &mut random, &second, &original, &source).unwrap();
        let new = seal_new(&vault, &mut random, &second).unwrap();
        let mut tokens = Tokens::default();
        let mut check = |token: &[u8], occasion| tokens.check(&vault, token, occasion, &source);
        assert_eq!(check(&retry, &first), Proof::Spoilt);
        assert_eq!(check(&new, &first), Proof::None);
        assert_eq!(check(&retry, &second), Proof::Retried { original });
        assert_eq!(check(&new, &second), Proof::Known);
    }

    #[test]
    fn a_new_token_is_good_once() {
        let vault = TokenSealer::new([1; 32], [1; 32]).unwrap();
        let mut random = Random::new(&[2; 32]);
        let (client, now): (SocketAddr, _) = ("[2001:db8::1]:9".parse().unwrap(), Time(1));
        let mut tokens = Tokens::default();
        let mut give = || seal_new(&vault, &mut random, &occasion(now, client)).unwrap();
        let (first, second, third) = (give(), give(), give());
        assert!(first != second && second != third);
        let elsewhere = "[2001:db8::2]:9".parse().unwrap();
        let other_port = "[2001:db8::1]:10".parse().unwrap();
        let mut check = |token: &[u8], hours, client| {
            let now = now.after(Duration::from_hours(hours));
            tokens.check(&vault, token, &occasion(now, client), &ConnectionId::EMPTY)
        };
        assert_eq!(check(&first, 1, elsewhere), Proof::None);
        assert_eq!(check(&first, 1, other_port), Proof::Known);
        assert_eq!(check(&first, 1, other_port), Proof::None);
        assert_eq!(check(&second, 25, client), Proof::None);
        assert_eq!(check(&third, 24, client), Proof::Known);
    }

    #[test]
    fn when_too_many_were_used_old_ones_are_worth_nothing() {
        let vault = TokenSealer::new([1; 32], [1; 32]).unwrap();
        let mut random = Random::new(&[2; 32]);
        let client: SocketAddr = "192.0.2.1:1000".parse().unwrap();
        let mut tokens = Tokens {
            used: (0..MAX_USED as u64 - 1).collect(),
            floor: Time::ZERO,
        };
        let mut give = |now| seal_new(&vault, &mut random, &occasion(now, client)).unwrap();
        let old = [give(Time(10)), give(Time(10))];
        let later = give(Time(11));
        let mut check = |token| {
            tokens.check(
                &vault,
                token,
                &occasion(Time(10), client),
                &ConnectionId::EMPTY,
            )
        };
        assert_eq!(check(&old[0]), Proof::Known);
        assert_eq!(check(&old[0]), Proof::None);
        assert_eq!(check(&old[1]), Proof::None);
        let proof = tokens.check(
            &vault,
            &later,
            &occasion(Time(11), client),
            &ConnectionId::EMPTY,
        );
        assert_eq!(proof, Proof::Known);
    }
}
