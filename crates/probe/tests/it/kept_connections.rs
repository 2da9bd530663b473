//! A kept connection that the server closes just as the next request leaves: the request is
//! repeated, and the report says so.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use roundtrip_model::Target;
use roundtrip_probe::{Options, Prober};

/// Answers one request on each connection, and closes it when a second one arrives.
fn fickle_server(connections: usize) -> (SocketAddr, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        for _ in 0..connections {
            let (mut stream, _) = listener.accept().unwrap();
            if hear_request(&mut stream) {
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                    .unwrap();
                hear_request(&mut stream);
            }
        }
    });
    (place, serving)
}

fn hear_request(stream: &mut TcpStream) -> bool {
    let (mut heard, mut buffer) = (Vec::new(), [0; 4096]);
    while !heard.ends_with(b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(n) if n > 0 => heard.extend_from_slice(&buffer[..n]),
            _ => return false,
        }
    }
    true
}

#[test]
fn a_stale_connection_is_replaced_once() {
    let (place, serving) = fickle_server(2);
    let options = Options {
        strategy: "h1+clear+reuse".parse().unwrap(),
        ..Options::default()
    };
    let target = Target::parse(&format!("http://{place}/")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut prober = Prober::new(options);
        let hops = prober.run(&target, 0, &mut std::io::sink()).await;
        let exchange = hops.last().unwrap();
        assert!(exchange.ok(), "{:?}", exchange.failure);
        assert!(!exchange.reused);
        assert!(
            exchange
                .notes
                .iter()
                .any(|n| n.contains("opened a new one")),
            "{:?}",
            exchange.notes
        );
        assert_eq!(exchange.round_trips(), 2);
        prober.retire().await;
    });
    serving.join().unwrap();
}
