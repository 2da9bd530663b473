//! Connections whose packets `packet_aead` protects at one end or at both: the other end sees no
//! difference.

use roundtrip_packet_aead as packet_aead;
use rustls::CipherSuite;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::default_provider;

use super::simulation::{CLIENT, SERVER, Simulation, fast};
use super::tls::Identity;

const MEGABYTE: u64 = 1_000_000;
const SUITES: [CipherSuite; 2] = [
    CipherSuite::TLS13_AES_128_GCM_SHA256,
    CipherSuite::TLS13_AES_256_GCM_SHA384,
];

fn with_suite(provider: fn() -> CryptoProvider, suite: CipherSuite) -> CryptoProvider {
    let mut provider = provider();
    provider.cipher_suites.retain(|one| one.suite() == suite);
    provider
}

/// A simulation of a client and a server that use only that suite.
fn between(
    client: fn() -> CryptoProvider,
    server: fn() -> CryptoProvider,
    suite: CipherSuite,
) -> Simulation {
    let identity = Identity::between(with_suite(client, suite), with_suite(server, suite));
    Simulation::with_identity(identity, 1, &fast(), |_| {})
}

#[test]
fn bulk_comes_whole_whoever_protects_it() {
    for suite in SUITES {
        for (client, server) in [
            (
                packet_aead::provider as fn() -> _,
                packet_aead::provider as fn() -> _,
            ),
            (packet_aead::provider, default_provider),
            (default_provider, packet_aead::provider),
        ] {
            let mut simulation = between(client, server, suite);
            let (client, server) = simulation.establish();
            let connection = simulation.nodes[SERVER].connection(server);
            assert_eq!(connection.cipher(), Some(suite));
            simulation.request(client, MEGABYTE, 2 * MEGABYTE);
            simulation.run_until_completed(client, 1);
            for (host, handle) in [(CLIENT, client), (SERVER, server)] {
                let stats = simulation.stats(host, handle);
                assert_eq!((stats.packets_lost, stats.stream_bytes_resent), (0, 0));
            }
        }
    }
}

#[test]
fn early_data_is_protected_too() {
    let mut simulation = between(packet_aead::provider, packet_aead::provider, SUITES[0]);
    let (first, _) = simulation.establish();
    simulation.request(first, 0, 10);
    simulation.run_until_completed(first, 1);
    let client = simulation.connect();
    simulation.request(client, 2000, 3000);
    simulation.run_until_completed(client, 1);
    let connection = simulation.nodes[CLIENT].connection(client);
    assert_eq!(connection.early_accepted(), Some(true));
}
