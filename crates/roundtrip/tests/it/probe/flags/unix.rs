//! A server on a Unix socket.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;

use crate::probe::report::report;

#[test]
fn a_unix_socket_is_asked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let n = stream.read(&mut request).unwrap();
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
            .unwrap();
        String::from_utf8_lossy(&request[..n]).into_owned()
    });
    let path = path.display().to_string();
    let report = report(&["--unix-socket", &path, "http://nowhere.invalid/x"]);
    report.assert_status(200);
    assert_eq!(report.at("/name"), &serde_json::Value::Null);
    let request = server.join().unwrap();
    assert!(
        request.starts_with("GET /x HTTP/1.1\r\nHost: nowhere.invalid\r\n"),
        "{request}"
    );
}

#[test]
fn a_socket_that_is_not_there_is_named() {
    let report = report(&["--unix-socket", "/nowhere/socket", "http://localhost/"]);
    assert_eq!(
        (report.code, report.at("/failure/kind").as_str()),
        (1, Some("refused"))
    );
    let message = report.at("/failure/message").as_str().unwrap();
    assert!(
        message.starts_with("cannot connect to /nowhere/socket: "),
        "{message}"
    );
    let once = message.matches("cannot connect").count();
    assert_eq!(once, 1, "{message}");
}
