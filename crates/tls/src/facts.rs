//! The facts of a finished handshake, as types of the model.

use roundtrip_model::TlsFacts;
use rustls::pki_types::CertificateDer;
use rustls::{CipherSuite, CommonState, HandshakeKind, NamedGroup, ProtocolVersion};

use crate::{RecordingVerifier, chain};

/// The facts that a TLS state holds, over TCP or QUIC.
pub fn handshake_facts(state: &CommonState, verifier: Option<&RecordingVerifier>) -> TlsFacts {
    let seen = verifier.map(RecordingVerifier::take_observation);
    let seen = seen.unwrap_or_default();
    let kind = state.handshake_kind();
    let tls13 = state.protocol_version() == Some(ProtocolVersion::TLSv1_3);
    TlsFacts {
        version: state
            .protocol_version()
            .map(version_name)
            .unwrap_or_default(),
        cipher: state
            .negotiated_cipher_suite()
            .map(|s| cipher_name(s.suite()))
            .unwrap_or_default(),
        group: state
            .negotiated_key_exchange_group()
            .map(|g| group_name(g.name()))
            .unwrap_or_default(),
        alpn: state
            .alpn_protocol()
            .map(|p| String::from_utf8_lossy(p).into_owned()),
        resumed: matches!(kind, Some(HandshakeKind::Resumed)),
        hello_retry: matches!(kind, Some(HandshakeKind::FullWithHelloRetryRequest)),
        chain: state
            .peer_certificates()
            .or(seen.refused_chain())
            .map(|chain| chain::facts(chain, tls13, &seen)),
        verify_result: seen.verify_result(),
        ..TlsFacts::default()
    }
}

fn version_name(version: ProtocolVersion) -> String {
    match version {
        ProtocolVersion::TLSv1_2 => "TLSv1.2".into(),
        ProtocolVersion::TLSv1_3 => "TLSv1.3".into(),
        other => format!("{other:?}"),
    }
}

/// The suite's IANA name: rustls gives the suites of TLS 1.3 another prefix.
fn cipher_name(suite: CipherSuite) -> String {
    format!("{suite:?}").replacen("TLS13_", "TLS_", 1)
}

fn group_name(group: NamedGroup) -> String {
    format!("{group:?}")
}

/// The facts of a handshake whose TLS state is not accessible (that of QUIC): the chain, and the
/// verifier's observations.
pub fn peer_facts(chain: Option<&[CertificateDer<'_>]>, verifier: &RecordingVerifier) -> TlsFacts {
    let seen = verifier.take_observation();
    TlsFacts {
        version: version_name(ProtocolVersion::TLSv1_3),
        chain: chain
            .or(seen.refused_chain())
            .map(|chain| chain::facts(chain, true, &seen)),
        verify_result: seen.verify_result(),
        ..TlsFacts::default()
    }
}
