//! Each way in which a client begins a connection, as records.

use super::*;

fn record(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut record = vec![kind, 3, 3];
    record.extend((body.len() as u16).to_be_bytes());
    record.extend(body);
    record
}

/// Makes a ClientHello that offers nothing, or HTTP/2.
fn hello(h2: bool) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0x13, 1, 1, 0]);
    if h2 {
        body.extend([0, 9, 0, 16, 0, 5, 0, 3, 2, b'h', b'2']);
    }
    let mut message = vec![1, 0, 0, body.len() as u8];
    message.extend(body);
    record(22, &message)
}

fn read(spoken: &mut ClientBytes, parts: &[Vec<u8>]) -> Written {
    let bytes = parts.concat();
    spoken.read(&bytes, bytes.len() as u64)
}

#[test]
fn a_request_in_the_clear_is_read() {
    let mut spoken = ClientBytes::default();
    let told = read(
        &mut spoken,
        &[b"GET /a HTTP/1.1\r\nHost: b\r\n\r\n".to_vec()],
    );
    let asked = told.asked.unwrap();
    assert!(told.request && spoken.protocol() == Protocol::Http1);
    assert_eq!(
        (asked.method.as_str(), asked.target.as_str()),
        ("GET", "/a")
    );
    assert_eq!(asked.host.as_deref(), Some("b"));
    // The body of an upload is not another request.
    let told = read(&mut spoken, &[b"a=b&c=d".to_vec()]);
    assert_eq!(told, Written::default());
}

#[test]
fn the_first_line_alone_is_a_request() {
    let mut spoken = ClientBytes::default();
    let told = read(&mut spoken, &[b"POST /up HTTP/1.0\r\n".to_vec()]);
    assert!(told.asked.is_some_and(|asked| asked.is_http10));
}

#[test]
fn finished_and_request_of_tls13_are_told_apart() {
    for together in [true, false] {
        let mut spoken = ClientBytes::default();
        assert!(read(&mut spoken, &[hello(false)]).hello);
        spoken.answered();
        let ccs = record(20, &[1]);
        let finished = record(23, &[0; 53]);
        let request = record(23, &[0; 200]);
        let told = if together {
            read(&mut spoken, &[ccs, finished, request])
        } else {
            let told = read(&mut spoken, &[ccs, finished]);
            assert!(told.finished && !told.request);
            read(&mut spoken, &[request])
        };
        assert_eq!((told.finished, told.request), (together, true));
        assert_eq!(spoken.is_tls12(), Some(false));
    }
}

#[test]
fn a_clients_certificate_is_not_a_request() {
    let mut spoken = ClientBytes::default();
    read(&mut spoken, &[hello(false)]);
    spoken.answered();
    let ccs = record(20, &[1]);
    let told = read(
        &mut spoken,
        &[ccs, record(23, &[0; 900]), record(23, &[0; 69])],
    );
    assert!(told.finished && !told.request);
    assert!(read(&mut spoken, &[record(23, &[0; 80])]).request);
}

#[test]
fn a_handshake_of_tls12_ends_with_the_first_encrypted_message() {
    let mut spoken = ClientBytes::default();
    read(&mut spoken, &[hello(false)]);
    spoken.answered();
    let exchange = record(22, &[16, 0, 0, 1, 0]);
    let told = read(
        &mut spoken,
        &[exchange, record(20, &[1]), record(22, &[0xaa; 40])],
    );
    assert!(told.finished && !told.request);
    assert_eq!(spoken.is_tls12(), Some(true));
    assert!(read(&mut spoken, &[record(23, &[0; 100])]).request);
}

#[test]
fn early_data_is_a_request_before_the_answer() {
    let mut spoken = ClientBytes::default();
    let told = read(
        &mut spoken,
        &[hello(false), record(20, &[1]), record(23, &[0; 150])],
    );
    assert!(told.hello && told.early && told.request && !told.finished);
    spoken.answered();
    let told = read(&mut spoken, &[record(23, &[0; 21]), record(23, &[0; 53])]);
    assert!(told.finished && !told.request);
}

#[test]
fn control_frames_of_http2_are_not_requests() {
    for (h2, frames, is_request) in [
        (true, 26, false),
        (true, 30, false),
        (true, 32, true),
        (true, 90, true),
        (false, 26, true),
        // close_notify.
        (false, 19, false),
    ] {
        let mut spoken = ClientBytes::default();
        read(&mut spoken, &[hello(h2)]);
        spoken.answered();
        read(&mut spoken, &[record(20, &[1]), record(23, &[0; 53])]);
        let bytes = record(23, &vec![0; frames]);
        let told = spoken.read(&bytes[..6], bytes.len() as u64);
        assert_eq!(told.request, is_request, "{h2} {frames}");
    }
}

#[test]
fn an_alert_of_tls12_is_not_a_request() {
    let mut spoken = ClientBytes::default();
    read(&mut spoken, &[hello(true)]);
    spoken.answered();
    read(&mut spoken, &[record(20, &[1]), record(22, &[0xaa; 40])]);
    let goaway_and_alert = [record(23, &[0; 17 + 24]), record(21, &[0; 26])];
    assert!(!read(&mut spoken, &goaway_and_alert).request);
    assert!(read(&mut spoken, &[record(23, &[0; 300])]).request);
}

#[test]
fn a_second_hello_is_counted() {
    let mut spoken = ClientBytes::default();
    read(&mut spoken, &[hello(false)]);
    spoken.answered();
    let told = read(&mut spoken, &[record(20, &[1]), hello(false)]);
    assert!(told.hello && !told.finished);
    assert_eq!(spoken.hellos(), 2);
}

#[test]
fn a_hello_in_two_writes_is_put_together() {
    let mut spoken = ClientBytes::default();
    let bytes = hello(true);
    let (first, second) = bytes.split_at(20);
    assert_eq!(read(&mut spoken, &[first.to_vec()]), Written::default());
    assert!(read(&mut spoken, &[second.to_vec()]).hello);
    assert!(spoken.may_be_http2());
}

#[test]
fn any_bytes_are_read() {
    let mut seed = 1_u32;
    for length in 0..300_u64 {
        let mut spoken = ClientBytes::default();
        for _ in 0..4 {
            let bytes: Vec<u8> = (0..length)
                .map(|n| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    [22, 3, 1, 0][n as usize % 4] ^ ((seed >> 24) as u8 & 3)
                })
                .collect();
            spoken.read(&bytes, length * 2);
            spoken.answered();
        }
    }
}
