//! HTTP/2 frames that cost work and have no use: a client that sends little else is disconnected,
//! and one that uses them as intended is not.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::lifecycle::scene::Scene;
use crate::limits::backend::Backend;
use crate::limits::gate;
use crate::readings::h2::{
    Connection, DATA, END_STREAM, Frame, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE,
};
use crate::skip;

const PRIORITY: u8 = 2;
const PRIORITY_UPDATE: u8 = 0x10;
const UNKNOWN: u8 = 0xfe;
const ENHANCE_YOUR_CALM: u32 = 11;
/// Many more than any honest client needs.
const BOUND: usize = 100_000;
const AT_ONCE: usize = 100;

fn ask(connection: &mut Connection, path: &str, ended: bool) -> u32 {
    let fields: [(&str, &[u8]); 4] = [
        (":method", b"GET"),
        (":scheme", b"https"),
        (":authority", b"a"),
        (":path", path.as_bytes()),
    ];
    connection.ask(&fields, ended)
}

/// The error of the GOAWAY that gate sends before it has received this many frames.
fn ended_with(scene: &Scene, frames: &[Frame]) -> Option<u32> {
    let mut connection = Connection::open(scene, &[]);
    let piece: Vec<u8> = frames
        .iter()
        .cycle()
        .take(AT_ONCE)
        .flat_map(Frame::bytes)
        .collect();
    for _ in 0..BOUND / AT_ONCE {
        if !connection.write(&piece) {
            break;
        }
        // Gate's frames are read, so that gate does not wait for the client to read.
        connection.stream.sock.set_nonblocking(true).unwrap();
        let goaway = connection.reads_goaway();
        connection.stream.sock.set_nonblocking(false).unwrap();
        if goaway.is_some() {
            return goaway;
        }
    }
    // Either the connection has ended, or this is answered.
    ask(&mut connection, "/quick", true);
    while let Some(frame) = connection.read() {
        match frame.kind {
            GOAWAY => return Some(frame.error()),
            HEADERS => return None,
            _ => {}
        }
    }
    // The connection has ended, and a reset discarded the GOAWAY.
    Some(u32::MAX)
}

fn is_calmed(name: &str, frames: &[Frame]) {
    let scene = gate(Backend::start().at);
    let error = ended_with(&scene, frames);
    assert_eq!(error, Some(ENHANCE_YOUR_CALM), "{name}");
    // Others are not affected.
    let mut connection = Connection::open(&scene, &[]);
    let id = ask(&mut connection, "/quick", true);
    assert_eq!(connection.answer(id).status, 200);
}

#[test]
fn a_client_that_only_sends_priorities_is_ended() {
    is_calmed("PRIORITY", &[Frame::new(PRIORITY, 0, 1, &[0, 0, 0, 0, 15])]);
}

#[test]
fn a_client_that_only_opens_windows_is_ended() {
    is_calmed(
        "WINDOW_UPDATE",
        &[Frame::new(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])],
    );
}

#[test]
fn a_client_that_only_sends_unknown_frames_is_ended() {
    is_calmed("unknown", &[Frame::new(UNKNOWN, 0, 0, b"something")]);
    is_calmed(
        "PRIORITY_UPDATE",
        &[Frame::new(PRIORITY_UPDATE, 0, 0, b"\0\0\0\x01u=1")],
    );
}

#[test]
fn a_client_that_only_sends_settings_is_ended_even_if_it_reads_the_acknowledgements() {
    is_calmed("SETTINGS", &[Frame::new(SETTINGS, 0, 0, &[])]);
    is_calmed(
        "SETTINGS with something in it",
        &[Frame::new(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100])],
    );
}

#[test]
fn a_client_that_only_pings_is_ended_even_if_it_reads_the_answers() {
    is_calmed("PING", &[Frame::new(PING, 0, 0, b"whatever")]);
}

/// All kinds count together.
#[test]
fn a_client_that_sends_some_frames_of_each_kind_is_ended() {
    is_calmed(
        "each",
        &[
            Frame::new(PRIORITY, 0, 1, &[0, 0, 0, 0, 15]),
            Frame::new(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]),
            Frame::new(UNKNOWN, 0, 0, b""),
            Frame::new(SETTINGS, 0, 0, &[]),
        ],
    );
}

/// The client sends what browsers send, and more: with each request a priority, in the old and the
/// new form, and window updates for received data.
#[test]
fn a_client_that_sends_frames_that_belong_to_requests_is_served() {
    let scene = gate(Backend::start().at);
    let mut connection = Connection::open(&scene, &[]);
    for root in [3, 5, 7, 9, 11] {
        connection.send(&Frame::new(PRIORITY, 0, root, &[0, 0, 0, 0, 15]));
    }
    for number in 0..2000 {
        let id = ask(&mut connection, "/quick", true);
        connection.send(&Frame::new(PRIORITY, 0, id, &[0, 0, 0, 0, 15]));
        connection.send(&Frame::new(
            PRIORITY_UPDATE,
            0,
            0,
            &[&id.to_be_bytes(), b"u=3".as_slice()].concat(),
        ));
        if number % 100 == 0 {
            connection.send(&Frame::new(PING, 0, 0, b"are you?"));
            connection.send(&Frame::new(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100]));
        }
        let answered = connection.answer(id);
        assert_eq!(
            (answered.status, answered.over),
            (200, false),
            "request {number}"
        );
    }
}

/// Windows of a few bytes: each DATA frame is followed by updates of both windows.
#[test]
fn a_client_that_reads_much_in_small_windows_is_served() {
    const SIZE: usize = 4 << 20;
    // SETTINGS_INITIAL_WINDOW_SIZE.
    for window in [200_u32, 1000, 16_384] {
        let scene = gate(Backend::start().at);
        let setting = [&[0, 4], window.to_be_bytes().as_slice()].concat();
        let mut connection = Connection::open(&scene, &setting);
        let id = ask(&mut connection, &format!("/large/{SIZE}"), true);
        let (mut taken, mut frames) = (0, 0);
        while let Some(frame) = connection.read() {
            assert!(
                frame.kind != GOAWAY && frame.kind != RST_STREAM,
                "after {taken} bytes in {frames} frames: {frame:?}"
            );
            if frame.kind != DATA {
                continue;
            }
            (taken, frames) = (taken + frame.payload.len(), frames + 1);
            if frame.flags & END_STREAM != 0 {
                break;
            }
            let length = u32::try_from(frame.payload.len()).unwrap();
            if length > 0 {
                let opened = [0, id]
                    .map(|id| Frame::new(WINDOW_UPDATE, 0, id, &length.to_be_bytes()).bytes());
                connection.write(&opened.concat());
            }
        }
        println!("a window of {window}: {frames} frames of DATA");
        assert_eq!(taken, SIZE, "a window of {window}");
    }
}

/// Other implementations' clients, with their smallest windows.
#[test]
fn other_clients_are_served() {
    let scene = gate(Backend::start().at);
    let url = format!("https://{}/large/300000", scene.gate().addresses().https[0]);
    for (program, arguments) in [
        (
            "nghttp",
            vec!["-n", "-v", "-m", "20", "-w", "10", "-W", "10", &url],
        ),
        (
            "curl",
            vec![
                "-k",
                "-s",
                "-S",
                "-v",
                "--http2",
                "-o",
                "/dev/null",
                &url,
                &url,
                &url,
            ],
        ),
        (
            "h2load",
            vec!["-n", "200", "-m", "10", "-w", "12", "-W", "14", &url],
        ),
    ] {
        let mut command = Command::new(program);
        let Ok(mut child) = command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
        else {
            skip::lacking("frames of other clients", program);
            continue;
        };
        let mut said = String::new();
        let mut errors = child.stderr.take().unwrap();
        let reading = std::thread::spawn(move || {
            let mut text = Vec::new();
            errors.read_to_end(&mut text).map(|_| text)
        });
        let mut text = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut text).unwrap();
        text.extend(reading.join().unwrap().unwrap());
        said.push_str(&String::from_utf8_lossy(&text));
        assert!(child.wait().unwrap().success(), "{program}: {said}");
        assert!(!said.contains("ENHANCE_YOUR_CALM"), "{program}: {said}");
        if program == "h2load" {
            assert!(said.contains("200 succeeded, 0 failed"), "{said}");
        }
    }
}
