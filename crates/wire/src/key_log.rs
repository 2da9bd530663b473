//! The secrets of connections, as an SSLKEYLOGFILE or a capture's Decryption Secrets Block lists
//! them, by the random of the ClientHello. draft-ietf-tls-keylogfile §2.
//!
//! Push bytes as they come, then call [`KeyLog::finish`]: a line may be split into several pieces.
//! Lines that cannot be read, and lines with labels that are not needed here, are counted and
//! skipped.

use std::collections::{HashMap, VecDeque};

use crate::{hex, unhex};

/// The longest line in bytes: two secrets in hexadecimal and the longest label take 250.
const MAX_LINE_LENGTH: usize = 1024;
/// The number of bytes for secrets, unless the caller sets another.
const ROOM: usize = 256 << 20;
/// The approximate memory of a connection and of a secret in bytes, beside the secret itself.
const PER_CONNECTION: usize = 256;
const PER_SECRET: usize = 16;

/// The kind of secret in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyLabel {
    /// TLS 1.2: the master secret.
    Master,
    /// This label and those below are of TLS 1.3 and QUIC.
    ClientEarly,
    ClientHandshake,
    ServerHandshake,
    /// The first secret for application data; those after key updates follow from it.
    ClientTraffic,
    ServerTraffic,
}

impl KeyLabel {
    fn name(self) -> &'static str {
        match self {
            Self::Master => "CLIENT_RANDOM",
            Self::ClientEarly => "CLIENT_EARLY_TRAFFIC_SECRET",
            Self::ClientHandshake => "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
            Self::ServerHandshake => "SERVER_HANDSHAKE_TRAFFIC_SECRET",
            Self::ClientTraffic => "CLIENT_TRAFFIC_SECRET_0",
            Self::ServerTraffic => "SERVER_TRAFFIC_SECRET_0",
        }
    }

    fn from_name(name: &[u8]) -> Option<Self> {
        // Drafts of QUIC used a prefix.
        Some(match name.strip_prefix(b"QUIC_").unwrap_or(name) {
            b"CLIENT_RANDOM" => Self::Master,
            b"CLIENT_EARLY_TRAFFIC_SECRET" => Self::ClientEarly,
            b"CLIENT_HANDSHAKE_TRAFFIC_SECRET" => Self::ClientHandshake,
            b"SERVER_HANDSHAKE_TRAFFIC_SECRET" => Self::ServerHandshake,
            b"CLIENT_TRAFFIC_SECRET_0" => Self::ClientTraffic,
            b"SERVER_TRAFFIC_SECRET_0" => Self::ServerTraffic,
            _ => return None,
        })
    }
}

/// The secrets that were read: if they need more than its room, those of the connections that were
/// listed first are forgotten. It has no `Debug`, because nothing may print them.
pub struct KeyLog {
    connections: HashMap<[u8; 32], Vec<Labelled>>,
    /// The connections in the order in which they were first listed.
    order: VecDeque<[u8; 32]>,
    /// The largest number of bytes for secrets.
    room: usize,
    held: usize,
    forgotten: u64,
    /// The beginning of a line that is not complete yet.
    line: Vec<u8>,
    /// Whether that line is too long, so that its rest is skipped.
    overlong: bool,
    unused: u64,
    damaged: u64,
}

/// A secret and its purpose.
type Labelled = (KeyLabel, Box<[u8]>);

impl Default for KeyLog {
    fn default() -> Self {
        Self::with_room(ROOM)
    }
}

impl KeyLog {
    /// An empty log that holds about this many bytes.
    pub fn with_room(room: usize) -> Self {
        Self {
            connections: HashMap::new(),
            order: VecDeque::new(),
            room,
            held: 0,
            forgotten: 0,
            line: Vec::new(),
            overlong: false,
            unused: 0,
            damaged: 0,
        }
    }

    /// Reads a complete log.
    pub fn parse(log: &[u8]) -> Self {
        let mut keys = Self::default();
        keys.push(log);
        keys.finish();
        keys
    }

    /// The secret of a connection.
    pub fn get(&self, client_random: &[u8; 32], label: KeyLabel) -> Option<&[u8]> {
        let secrets = self.connections.get(client_random)?;
        let (_, secret) = secrets.iter().find(|(known, _)| *known == label)?;
        Some(secret)
    }

    /// Whether there is any secret of the connection.
    pub fn has(&self, client_random: &[u8; 32]) -> bool {
        self.connections.contains_key(client_random)
    }

    /// The lines of a log with the secrets of a connection.
    pub fn lines_of(&self, client_random: &[u8; 32]) -> String {
        let secrets = self.connections.get(client_random);
        let lines = secrets.into_iter().flatten().map(|(label, secret)| {
            format!("{} {} {}\n", label.name(), hex(client_random), hex(secret))
        });
        lines.collect()
    }

    /// How many connections have secrets.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Lines with labels that are not needed to read a connection: exporters, ECH.
    pub fn unused(&self) -> u64 {
        self.unused
    }

    /// Connections whose secrets were forgotten, because there was no room for all.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Roughly the number of bytes that the log holds.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Lines that could not be read.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    pub fn push(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at_checked(end + 1).unwrap_or((bytes, &[]));
            self.extend_line(line.strip_suffix(b"\n").unwrap_or(line));
            self.finish();
            bytes = rest;
        }
        self.extend_line(bytes);
    }

    /// Takes the remaining bytes as the last line.
    pub fn finish(&mut self) {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.overlong) {
            self.damaged += 1;
        } else {
            self.take(&line);
        }
        self.line = line;
        self.line.clear();
    }

    fn extend_line(&mut self, bytes: &[u8]) {
        self.overlong |= self.line.len() + bytes.len() > MAX_LINE_LENGTH;
        if !self.overlong {
            self.line.extend_from_slice(bytes);
        }
    }

    fn take(&mut self, line: &[u8]) {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            return;
        }
        let mut words = line
            .split(u8::is_ascii_whitespace)
            .filter(|w| !w.is_empty());
        let (Some(name), Some(random), Some(secret), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            self.damaged += 1;
            return;
        };
        let random = unhex(random).and_then(|random| <[u8; 32]>::try_from(random).ok());
        let secret = unhex(secret).filter(|secret| !secret.is_empty());
        let Some(label) = KeyLabel::from_name(name) else {
            // The RSA lines of TLS 1.2 contain eight bytes of a message instead of the random.
            let is_name = name
                .iter()
                .all(|b| b.is_ascii_uppercase() || b"_0123456789".contains(b));
            *(if is_name {
                &mut self.unused
            } else {
                &mut self.damaged
            }) += 1;
            return;
        };
        let fits = |secret: &Vec<u8>| match label {
            KeyLabel::Master => secret.len() == 48,
            _ => matches!(secret.len(), 32 | 48),
        };
        let (Some(random), Some(secret)) = (random, secret.filter(fits)) else {
            self.damaged += 1;
            return;
        };
        let secrets = self.connections.entry(random).or_default();
        if secrets.is_empty() {
            self.order.push_back(random);
            self.held += PER_CONNECTION;
        }
        self.held += PER_SECRET + secret.len();
        if let Some((_, known)) = secrets.iter_mut().find(|(known, _)| *known == label) {
            self.held -= PER_SECRET + known.len();
            *known = secret.into();
        } else {
            secrets.push((label, secret.into()));
        }
        while self.held > self.room && self.order.len() > 1 {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        let first = self.order.pop_front();
        let secrets = first.and_then(|first| self.connections.remove(&first));
        let secrets = secrets.unwrap_or_default();
        let bytes = secrets.iter().map(|(_, secret)| PER_SECRET + secret.len());
        self.held -= PER_CONNECTION + bytes.sum::<usize>();
        self.forgotten += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(label: &str, random: u8, secret: usize) -> String {
        let random = format!("{random:02x}").repeat(32);
        format!("{label} {random} {}\n", "Ab".repeat(secret))
    }

    #[test]
    fn lines_are_read_in_pieces_of_any_length() {
        let log = [
            "# a comment\r\n\r\n".to_owned(),
            line("CLIENT_RANDOM", 1, 48).replace('\n', "\r\n"),
            line("QUIC_SERVER_TRAFFIC_SECRET_0", 2, 32),
            line("EXPORTER_SECRET", 2, 32),
            line("CLIENT_EARLY_TRAFFIC_SECRET", 2, 48),
        ]
        .concat();
        for piece in [1, 7, 10_000] {
            let mut keys = KeyLog::default();
            log.trim_end()
                .as_bytes()
                .chunks(piece)
                .for_each(|piece| keys.push(piece));
            keys.finish();
            assert_eq!(
                (keys.connections(), keys.unused(), keys.damaged()),
                (2, 1, 0)
            );
            let secret = |random, label| keys.get(&[random; 32], label);
            assert_eq!(secret(1, KeyLabel::Master), Some(&[0xab; 48][..]));
            assert_eq!(secret(2, KeyLabel::ServerTraffic), Some(&[0xab; 32][..]));
            assert_eq!(secret(2, KeyLabel::ClientEarly), Some(&[0xab; 48][..]));
            assert_eq!(secret(2, KeyLabel::ClientTraffic), None);
            assert!(!keys.has(&[3; 32]));
        }
    }

    #[test]
    fn damaged_lines_are_counted_and_passed_over() {
        let log = [
            "CLIENT_RANDOM 12\n".to_owned(),
            line("CLIENT_RANDOM", 1, 47),
            line("CLIENT_RANDOM", 1, 48).replace("Ab", "Ax"),
            line("CLIENT_RANDOM", 1, 48).replacen("01", "1", 1),
            format!("{}\n", "x".repeat(MAX_LINE_LENGTH + 1)),
            "\u{1}\u{2} \u{3} \u{4}\n".to_owned(),
            line("SERVER_TRAFFIC_SECRET_0", 1, 32),
        ]
        .concat();
        let keys = KeyLog::parse(log.as_bytes());
        assert_eq!((keys.connections(), keys.damaged()), (1, 6));
    }

    #[test]
    fn without_room_for_all_the_secrets_listed_last_are_kept() {
        let mut keys = KeyLog::with_room(10 * PER_CONNECTION);
        for random in 0..100 {
            for label in ["CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"] {
                // A line that is repeated takes no more room.
                keys.push(line(label, random, 32).repeat(3).as_bytes());
                assert!(keys.held() <= 10 * PER_CONNECTION);
            }
        }
        assert_eq!(keys.connections() as u64 + keys.forgotten(), 100);
        assert!(keys.has(&[99; 32]) && keys.has(&[95; 32]) && !keys.has(&[1; 32]));
    }

    #[test]
    fn the_lines_of_a_connection_can_be_written_again() {
        let log = [
            line("CLIENT_RANDOM", 1, 48),
            line("CLIENT_EARLY_TRAFFIC_SECRET", 2, 32),
            line("CLIENT_HANDSHAKE_TRAFFIC_SECRET", 2, 32),
            line("SERVER_HANDSHAKE_TRAFFIC_SECRET", 2, 48),
            line("CLIENT_TRAFFIC_SECRET_0", 2, 32),
            line("SERVER_TRAFFIC_SECRET_0", 2, 32),
        ];
        let log = log.map(|line| line.replace("Ab", "ab"));
        let keys = KeyLog::parse(log.concat().as_bytes());
        assert_eq!(keys.lines_of(&[1; 32]), log[0]);
        assert_eq!(keys.lines_of(&[2; 32]), log[1..].concat());
        assert_eq!(keys.lines_of(&[3; 32]), "");
    }

    #[test]
    fn the_last_line_for_a_secret_counts() {
        let first = line("SERVER_TRAFFIC_SECRET_0", 1, 32);
        let log = [first.replace("Ab", "cd"), first].concat();
        let keys = KeyLog::parse(log.as_bytes());
        let secret = keys.get(&[1; 32], KeyLabel::ServerTraffic);
        assert_eq!(secret, Some(&[0xab; 32][..]));
    }
}
