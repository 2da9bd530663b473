//! Alerts sent in clear text. RFC 8446 §6.

use crate::Result;
use crate::cursor::Cursor;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alert {
    /// Whether the alert is fatal. In TLS 1.3 the description implies it; in TLS 1.2 warnings leave
    /// the connection open.
    pub fatal: bool,
    pub description: u8,
}

impl Alert {
    /// Parses the body of an unencrypted alert record. An encrypted one is longer and is refused.
    pub fn parse(body: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new("TLS alert", body);
        let level = cursor.u8()?;
        let description = cursor.u8()?;
        if !matches!(level, 1 | 2) {
            return Err(cursor.malformed("its level is unknown"));
        }
        cursor.finish()?;
        Ok(Self {
            fatal: level == 2,
            description,
        })
    }

    pub fn level(self) -> &'static str {
        if self.fatal { "fatal" } else { "warning" }
    }

    /// The name in the IANA registry.
    pub fn name(self) -> Option<&'static str> {
        Some(match self.description {
            0 => "close_notify",
            10 => "unexpected_message",
            20 => "bad_record_mac",
            21 => "decryption_failed",
            22 => "record_overflow",
            30 => "decompression_failure",
            40 => "handshake_failure",
            41 => "no_certificate",
            42 => "bad_certificate",
            43 => "unsupported_certificate",
            44 => "certificate_revoked",
            45 => "certificate_expired",
            46 => "certificate_unknown",
            47 => "illegal_parameter",
            48 => "unknown_ca",
            49 => "access_denied",
            50 => "decode_error",
            51 => "decrypt_error",
            52 => "too_many_cids_requested",
            60 => "export_restriction",
            70 => "protocol_version",
            71 => "insufficient_security",
            80 => "internal_error",
            86 => "inappropriate_fallback",
            90 => "user_canceled",
            100 => "no_renegotiation",
            109 => "missing_extension",
            110 => "unsupported_extension",
            111 => "certificate_unobtainable",
            112 => "unrecognized_name",
            113 => "bad_certificate_status_response",
            114 => "bad_certificate_hash_value",
            115 => "unknown_psk_identity",
            116 => "certificate_required",
            117 => "general_error",
            120 => "no_application_protocol",
            121 => "ech_required",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_have_level_and_name() {
        let alert = Alert::parse(&[2, 120]).unwrap();
        assert_eq!(
            (alert.level(), alert.name()),
            ("fatal", Some("no_application_protocol"))
        );
        assert_eq!(Alert::parse(&[1, 0]).unwrap().level(), "warning");
        assert_eq!(Alert::parse(&[2, 255]).unwrap().name(), None);
        for bytes in [&[][..], &[2], &[3, 0], &[2, 40, 7, 7, 7, 7]] {
            assert!(Alert::parse(bytes).is_err(), "{bytes:?}");
        }
    }
}
