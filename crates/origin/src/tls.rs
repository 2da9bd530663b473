//! The server's TLS configurations for TCP and QUIC, as the knobs say. `tls::secure` performs the
//! handshake over TCP, and deliberate failures in it.

mod secure;
mod sessions;

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{
    NoServerSessionStorage, ServerSessionMemoryCache, StoresServerSessions, WebPkiClientVerifier,
};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion, version};

use self::sessions::{CountedSessions, DiscardingStore, DriftingClock};
use crate::certificates::IssuedCertificates;
use crate::{
    ClientCertificate, EarlyData, Group, OriginCounters, OriginError, Tickets, TlsKnobs,
    TlsVersions,
};

pub(crate) use secure::{approach, establish};

/// The early data that is accepted over TCP, in bytes. In QUIC the only possible number is the
/// maximum (RFC 9001, section 4.6.1).
const MAX_EARLY_DATA: u32 = 64 * 1024;
const MAX_SESSIONS: usize = 16 * 1024;

pub(crate) fn tcp_config(
    knobs: &TlsKnobs,
    certificates: &IssuedCertificates,
) -> Result<Arc<ServerConfig>, OriginError> {
    let versions: &[&SupportedProtocolVersion] = match knobs.versions {
        TlsVersions::Tls12 => &[&version::TLS12],
        TlsVersions::Tls13 => &[&version::TLS13],
        TlsVersions::Both => &[&version::TLS13, &version::TLS12],
    };
    let mut config = base(knobs, certificates, versions)?;
    config.alpn_protocols = knobs.protocols();
    config.max_early_data_size = if has_early_data(knobs) {
        MAX_EARLY_DATA
    } else {
        0
    };
    Ok(Arc::new(config))
}

/// QUIC always uses TLS 1.3, whatever the knob says (RFC 9001, section 4.2).
pub(crate) fn quic_config(
    knobs: &TlsKnobs,
    certificates: &IssuedCertificates,
    counters: &Arc<OriginCounters>,
    protocols: &[&str],
) -> Result<ServerConfig, OriginError> {
    let mut config = base(knobs, certificates, &[&version::TLS13])?;
    config.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    config.max_early_data_size = if has_early_data(knobs) { u32::MAX } else { 0 };
    // The state of a QUIC handshake is not accessible: resumptions are counted when tickets are
    // used.
    let counted = CountedSessions::new(&config, counters.clone());
    config.session_storage = Arc::new(counted.clone());
    if config.ticketer.enabled() {
        config.ticketer = Arc::new(counted);
    }
    Ok(config)
}

fn has_early_data(knobs: &TlsKnobs) -> bool {
    knobs.early_data != EarlyData::Off
}

fn base(
    knobs: &TlsKnobs,
    certificates: &IssuedCertificates,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<ServerConfig, OriginError> {
    // RFC 8446, section 8: rustls accepts early data only with sessions that it can delete after
    // one use.
    let remembers = matches!(knobs.tickets, Tickets::Stateful | Tickets::Refused);
    if has_early_data(knobs) && !remembers {
        return Err(OriginError::EarlyDataNeedsTickets(knobs.tickets));
    }
    let provider = Arc::new(provider(&knobs.groups));
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions)?
        .with_client_cert_verifier(client_verifier(knobs, certificates, provider)?);
    let staple = vec![0xA5; usize::from(knobs.staple)];
    let mut config = builder.with_single_cert_with_ocsp(
        certificates.chain.clone(),
        certificates.key.clone_key(),
        staple,
    )?;
    remember(&mut config, knobs)?;
    if knobs.compress_certificate {
        config.cert_compressors = vec![roundtrip_tls::certificate_compressor()];
    }
    // Answers to early data must not wait for the client's Finished; that is their purpose.
    config.send_half_rtt_data = has_early_data(knobs);
    if knobs.early_data == EarlyData::Refused {
        config.time_provider = Arc::new(DriftingClock::default());
    }
    Ok(config)
}

fn remember(config: &mut ServerConfig, knobs: &TlsKnobs) -> Result<(), OriginError> {
    let storage: Arc<dyn StoresServerSessions> = match knobs.tickets {
        Tickets::Stateful => ServerSessionMemoryCache::new(MAX_SESSIONS),
        Tickets::Refused => Arc::new(DiscardingStore),
        Tickets::Stateless | Tickets::Off => Arc::new(NoServerSessionStorage {}),
    };
    config.session_storage = storage;
    if knobs.tickets == Tickets::Stateless {
        config.ticketer = aws_lc_rs::Ticketer::new()?;
    }
    config.send_tls13_tickets = match knobs.tickets {
        Tickets::Off => 0,
        _ => usize::from(knobs.ticket_count),
    };
    Ok(())
}

fn client_verifier(
    knobs: &TlsKnobs,
    certificates: &IssuedCertificates,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, OriginError> {
    if knobs.client_certificate == ClientCertificate::Off {
        return Ok(WebPkiClientVerifier::no_client_auth());
    }
    let mut roots = RootCertStore::empty();
    roots.add(certificates.ca.clone())?;
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let verifier = match knobs.client_certificate {
        ClientCertificate::Require => builder.build()?,
        _ => builder.allow_unauthenticated().build()?,
    };
    Ok(verifier)
}

fn provider(groups: &[Group]) -> CryptoProvider {
    use aws_lc_rs::kx_group::{SECP256R1, SECP384R1, X25519, X25519MLKEM768};
    let mut provider = aws_lc_rs::default_provider();
    provider.kx_groups = groups
        .iter()
        .map(|group| match group {
            Group::X25519 => X25519,
            Group::Secp256r1 => SECP256R1,
            Group::Secp384r1 => SECP384R1,
            Group::X25519MlKem768 => X25519MLKEM768,
        })
        .collect();
    if groups.is_empty() {
        provider.kx_groups = roundtrip_tls::key_exchanges(true);
    }
    provider
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(knobs: &TlsKnobs) -> Result<Arc<ServerConfig>, OriginError> {
        tcp_config(knobs, &IssuedCertificates::issue(knobs).unwrap())
    }

    #[test]
    fn early_data_without_remembered_tickets_is_refused() {
        for (tickets, fine) in [
            (Tickets::Stateful, true),
            (Tickets::Refused, true),
            (Tickets::Stateless, false),
            (Tickets::Off, false),
        ] {
            let knobs = TlsKnobs {
                tickets,
                early_data: EarlyData::On,
                ..TlsKnobs::default()
            };
            let made = config(&knobs);
            assert_eq!(made.is_ok(), fine, "{tickets}");
            assert!(made.is_ok_and(|config| config.max_early_data_size > 0) == fine);
        }
    }

    #[test]
    fn quic_takes_early_data_and_its_own_protocol() {
        let knobs = TlsKnobs {
            versions: TlsVersions::Tls12,
            early_data: EarlyData::On,
            ..TlsKnobs::default()
        };
        let certificates = IssuedCertificates::issue(&knobs).unwrap();
        let config = quic_config(&knobs, &certificates, &Arc::default(), &["h3"]).unwrap();
        assert_eq!(config.alpn_protocols, [b"h3"]);
        assert_eq!(config.max_early_data_size, u32::MAX);
    }
}
