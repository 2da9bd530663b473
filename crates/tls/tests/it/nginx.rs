//! Sessions of nginx, which makes its tickets with OpenSSL; skipped if it is not installed.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use roundtrip_model::{EarlyData, TlsFacts};
use roundtrip_tls::{Client, Roots, StoredSession};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::peers::{HOST, offer, recorder};

struct Nginx(Child);

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(place: &Path) -> Option<(Nginx, u16)> {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let key = rcgen::generate_simple_self_signed(vec![HOST.into()]).unwrap();
    fs::write(place.join("cert.pem"), key.cert.pem()).unwrap();
    fs::write(place.join("key.pem"), key.signing_key.serialize_pem()).unwrap();
    let at = place.display();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {at}/{name};\n"))
        .concat();
    let text = format!(
        "daemon off;\nmaster_process off;\npid {at}/pid;\nevents {{}}\nhttp {{\n{temporary}access_log off;\n\
         server {{ listen 127.0.0.1:{port} ssl; ssl_protocols TLSv1.3; ssl_early_data on;\n\
         ssl_certificate {at}/cert.pem; ssl_certificate_key {at}/key.pem; return 200 hello; }} }}\n"
    );
    fs::write(place.join("nginx.conf"), text).unwrap();
    let mut command = Command::new("nginx");
    command.env("PATH", "/usr/sbin:/usr/local/sbin:/usr/bin:/bin");
    command
        .arg("-p")
        .arg(place)
        .arg("-c")
        .arg(place.join("nginx.conf"));
    command.arg("-e").arg(place.join("error.log"));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Some((Nginx(command.spawn().ok()?), port))
}

async fn connect(port: u16) -> TcpStream {
    for _ in 0..200 {
        if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)).await {
            return stream;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("nginx does not answer");
}

async fn visit(client: &Client, port: u16) -> TlsFacts {
    let socket = connect(port).await;
    let mut stream = client.connect(socket, &offer(), HOST, &recorder()).unwrap();
    if !stream.takes_early_data() {
        stream.handshake().await.unwrap();
    }
    let request = b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n";
    stream.write_all(request).await.unwrap();
    stream.flush().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("hello"), "{answer}");
    stream.facts().get().unwrap().clone()
}

#[tokio::test]
async fn nginx_takes_the_early_data_of_a_later_process() {
    let directory = tempfile::tempdir().unwrap();
    let Some((_nginx, port)) = start(directory.path()) else {
        eprintln!("nginx is not installed: nothing was tested");
        return;
    };
    let client = || Client::new(Roots::File(directory.path().join("cert.pem")), None).unwrap();
    let first = client();
    assert!(!visit(&first, port).await.resumed);
    let kept = first.take_sessions(false, HOST);
    assert_eq!(kept.len(), 2, "OpenSSL sends two");
    for stored in kept {
        let later = client();
        let read = StoredSession::decode(&stored.encode()).unwrap();
        later.revive(false, HOST, &read, SystemTime::now()).unwrap();
        let facts = visit(&later, port).await;
        assert!(facts.resumed, "{facts:?}");
        assert_eq!(facts.early_data, EarlyData::Accepted);
    }
}
