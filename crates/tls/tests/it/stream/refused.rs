//! A server's stream and clients that break the protocol: the client learns the reason if there is
//! an alert, and no bytes end in a panic.

use std::time::Duration;

use tokio::time::timeout;

use super::*;

/// In TLS 1.3, the server finds out after it has written its ServerHello.
#[tokio::test]
async fn a_server_says_that_it_lacks_the_protocol() {
    for tls13 in [true, false] {
        let mut p = peers(false);
        p.server.alpn_protocols = vec![b"h2".to_vec()];
        let (near, far) = duplex(1 << 16);
        tokio::spawn(async move {
            let mut stream = ServerStream::new(far, p.server.into()).unwrap();
            stream.handshake().await.unwrap_err();
        });
        let recorder = Recorder::new(Arc::new(Moment::ZERO));
        let offer = Offer {
            alpn: vec!["http/1.1"],
            tls13,
            ..offer(false)
        };
        let stream = p.client.connect(near, &offer, "localhost", &recorder);
        let error = stream.unwrap().handshake().await.unwrap_err();
        assert!(error.to_string().contains("NoApplicationProtocol"));
    }
}

/// The client gets at most one alert, and the server gets only errors, however often it tries.
#[tokio::test]
async fn bytes_that_are_not_tls_end_a_server_s_stream() {
    let alert = |code| vec![21, 3, 3, 0, 2, 2, code];
    for (bytes, expected) in [
        (b"GET / HTTP/1.1\r\n\r\n".as_slice(), alert(50)),
        (&[22, 3, 1, 0, 4, 1, 0, 0, 0], alert(50)),
        (&[23, 3, 3, 0, 2, 1, 2], alert(10)),
        (&[22, 3, 1, 0, 4, 9, 9, 9, 9], vec![]),
    ] {
        let (mut near, far) = duplex(1 << 16);
        let mut server = ServerStream::new(far, peers(false).server.into()).unwrap();
        near.write_all(bytes).await.unwrap();
        assert!(server.handshake().await.is_err());
        for _ in 0..3 {
            near.write_all(bytes).await.unwrap();
            assert!(server.read(&mut [0; 9]).await.is_err());
            assert!(server.write(b"x").await.is_err());
            let _ = server.shutdown().await;
        }
        drop(server);
        let mut told = Vec::new();
        near.read_to_end(&mut told).await.unwrap();
        assert_eq!(told, expected, "{bytes:?}");
    }
}

/// A client's record that was damaged on the way, behind good ones.
#[tokio::test]
async fn a_damaged_record_ends_a_server_s_stream() {
    let p = peers(false);
    let (near, far) = duplex(1 << 16);
    let serving = tokio::spawn(async move {
        let mut stream = ServerStream::new(far, p.server.into()).unwrap();
        let mut heard = [0; 4];
        stream.read_exact(&mut heard).await.unwrap();
        assert!(stream.read(&mut heard).await.is_err());
        assert!(stream.read(&mut heard).await.is_err());
        let _ = stream.shutdown().await;
    });
    let recorder = Recorder::new(Arc::new(Moment::ZERO));
    let mut stream = p
        .client
        .connect(near, &offer(false), "localhost", &recorder);
    let stream = stream.as_mut().unwrap();
    stream.write_all(b"ping").await.unwrap();
    stream.flush().await.unwrap();
    let damaged = [&[23, 3, 3, 0, 40][..], &[7; 40]].concat();
    stream.get_mut().write_all(&damaged).await.unwrap();
    let error = stream.read(&mut [0; 9]).await.unwrap_err();
    assert!(error.to_string().contains("BadRecordMac"), "{error}");
    serving.await.unwrap();
}

/// A client's bytes, cut anywhere, with some of them changed, dropped or repeated: whatever comes,
/// the stream returns data or an error.
#[tokio::test]
async fn no_client_makes_a_server_s_stream_panic() {
    let rounds = std::env::var("ROUNDS").map_or(300, |rounds| rounds.parse().unwrap());
    let p = peers(true);
    let server: Arc<ServerConfig> = p.server.into();
    let mut random = Lcg(rounds);
    let (mut heard, mut failed) = (0, 0);
    for _ in 0..rounds {
        let (near, client_end) = duplex(1 << 16);
        let (server_end, far) = duplex(1 << 16);
        let mut server = ServerStream::new(far, server.clone()).unwrap();
        let (spoil, write_first) = (random.next() % 40, random.next().is_multiple_of(3));
        let seed = random.next();
        let talking = async {
            let recorder = Recorder::new(Arc::new(Moment::ZERO));
            let mut stream = p
                .client
                .connect(near, &offer(true), "localhost", &recorder)
                .unwrap();
            for size in [10, 3000, 40_000] {
                if stream.write_all(&vec![7; size]).await.is_err() || stream.flush().await.is_err()
                {
                    break;
                }
                let _ = timeout(PAUSE, stream.read(&mut [0; 100])).await;
            }
            let _ = stream.shutdown().await;
        };
        let serving = async {
            let mut buffer = vec![0; 20_000];
            let room = 1 + seed as usize % buffer.len();
            let _ = timeout(10 * PAUSE, async {
                if write_first {
                    let _ = server.write(b"first").await;
                }
                loop {
                    match server.read(&mut buffer[..room]).await {
                        Ok(0) => break,
                        Ok(_) => heard += 1,
                        Err(_) => {
                            failed += 1;
                            break;
                        }
                    }
                    let _ = server.write_all(b"answer").await;
                    let _ = server.flush().await;
                }
                let _ = server.shutdown().await;
            })
            .await;
            drop(server);
        };
        let carrying = carry(client_end, server_end, Lcg(seed), spoil);
        let _ = tokio::join!(talking, serving, timeout(20 * PAUSE, carrying));
    }
    assert!(
        heard > rounds && failed > rounds / 10,
        "{heard} reads, {failed} failures"
    );
}

const PAUSE: Duration = Duration::from_millis(2);

struct Lcg(u64);

impl Lcg {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

/// Carries bytes both ways; what goes to the server comes in pieces, one of `spoil` of them
/// damaged.
async fn carry(client: DuplexStream, server: DuplexStream, mut random: Lcg, spoil: u64) {
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let up = async {
        let mut buffer = [0; 5000];
        while let Ok(count @ 1..) = from_client.read(&mut buffer).await {
            let mut rest = &mut buffer[..count];
            while !rest.is_empty() {
                let cut = 1 + random.next() as usize % rest.len();
                let (piece, later) = rest.split_at_mut(cut);
                let place = random.next() as usize % piece.len();
                match random.next() % (4 * spoil + 4) {
                    0 if spoil > 0 => piece[place] ^= 1 << (random.next() % 8),
                    1 if spoil > 0 => drop(to_server.write_all(&piece[..place]).await),
                    2 if spoil > 0 => drop(to_server.write_all(piece).await),
                    _ => {}
                }
                if to_server.write_all(piece).await.is_err() {
                    return;
                }
                tokio::task::yield_now().await;
                rest = later;
            }
        }
        let _ = to_server.shutdown().await;
    };
    let down = async {
        let _ = tokio::io::copy(&mut from_server, &mut to_client).await;
        let _ = to_client.shutdown().await;
    };
    tokio::join!(up, down);
}
