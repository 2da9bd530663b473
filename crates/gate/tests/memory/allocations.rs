//! Heap allocations of a request with a known session on warm connections: none, with a guard or
//! without.
#![allow(unsafe_code)] // an allocator is unsafe code

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, SystemTime};

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use roundtrip_gate::credentials::Vault;
use roundtrip_gate::guard::{Found, Guard, Keys, ManualWatch, Rules, SessionError, Sessions};
use roundtrip_gate::{Authenticator, Secret};
use roundtrip_wire::jwt::Algorithm;

const SECRET: &[u8] = b"a secret of sixty-four bytes, which is what HS512 would like to have";
/// A field that gate adds, with an ID that it made.
const ID: &[u8] = b"X-Request-Id: 0123456789abcdef-01234567\r\n";
/// A field that gate adds to answers for the session of a cookie.
const PRIVATE: &[u8] = b"Cache-Control: private\r\n";
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const REQUESTS: usize = 200;

static GUARDED: AtomicUsize = AtomicUsize::new(0);
static PLAIN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The counter for this thread's allocations.
    static COUNTER: Cell<Option<&'static AtomicUsize>> = const { Cell::new(None) };
}

fn count() {
    if let Ok(Some(counter)) = COUNTER.try_with(Cell::get) {
        counter.fetch_add(1, Ordering::SeqCst);
    }
}

/// The system's allocator, which counts. It changes nothing that the tests of resident memory see:
/// zeroed memory stays untouched, and what grows may grow in place.
struct Counting;

// SAFETY: the system's allocator does the work, and the caller keeps its contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: it came from the same allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Knows every session.
struct EverySession(Rc<ManualWatch>);

impl Sessions for EverySession {
    async fn find(&self, _: &str) -> Result<Option<Found>, SessionError> {
        Ok(Some(Found {
            credentials: STANDARD.encode("u:p").into_bytes(),
            expires: None,
            watch: self.0.clone(),
        }))
    }
}

#[test]
fn a_request_on_the_warm_path_allocates_nothing() {
    let _alone = crate::alone();
    let backend = backend();
    for (guarded, counter) in [(true, &GUARDED), (false, &PLAIN)] {
        let added = if guarded { PRIVATE } else { b"" };
        let length = ANSWER.len() + ID.len() + added.len();
        let allocated = requested(gate(counter, backend, guarded), length, counter);
        // One for each request would be twice this number.
        assert!(allocated < REQUESTS / 2, "{allocated}, guarded: {guarded}");
        let before = counter.load(Ordering::SeqCst) - allocated;
        assert!(before > 10, "nothing is counted: {before}");
    }
}

/// Gate's allocations for this number of requests on a warm connection, with answers of `length`
/// bytes.
fn requested(gate: SocketAddr, length: usize, counter: &AtomicUsize) -> usize {
    let mut client = TcpStream::connect(gate).unwrap();
    client
        .set_read_timeout(Some(Duration::from_mins(1)))
        .unwrap();
    let request = format!(
        "GET / HTTP/1.1\r\nHost: a\r\nCookie: Authorization={}\r\n\r\n",
        cookie()
    );
    let mut ask = || {
        client.write_all(request.as_bytes()).unwrap();
        let mut answer = vec![0; length];
        client.read_exact(&mut answer).unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200 "));
    };
    for _ in 0..20 {
        ask();
    }
    let before = counter.load(Ordering::SeqCst);
    for _ in 0..REQUESTS {
        ask();
    }
    counter.load(Ordering::SeqCst) - before
}

fn cookie() -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let claims = r#"{"sub":"u","sid":"s","iat":1,"exp":99999999999}"#;
    let input = format!("{}.{}", part(r#"{"alg":"HS512"}"#), part(claims));
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA512, SECRET), input.as_bytes());
    STANDARD.encode(format!("{input}.{}", URL_SAFE_NO_PAD.encode(tag)))
}

/// Starts gate in a thread whose allocations are counted.
fn gate(counter: &'static AtomicUsize, backend: SocketAddr, guarded: bool) -> SocketAddr {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap()).unwrap();
            COUNTER.set(Some(counter));
            if guarded {
                roundtrip_gate::measuring::guarded(listener, backend, authenticator()).await
            } else {
                roundtrip_gate::measuring::relay(listener, backend).await
            }
        })
    });
    told.recv().unwrap()
}

fn authenticator() -> Authenticator<EverySession> {
    let mut keys = Keys::default();
    let secret = Secret::new(SECRET.to_vec());
    keys.add_secret(Algorithm::Hs512, None, &secret).unwrap();
    let rules = Arc::new(Rules::new(keys, Vault::default()));
    let guard = Guard::new(rules, Box::new(SystemTime::now)).unwrap();
    Authenticator::new(guard, EverySession(Rc::default()))
}

fn backend() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while stream.read_exact(&mut byte).is_ok() {
                    head.push(byte[0]);
                    if head.ends_with(b"\r\n\r\n") {
                        head.clear();
                        stream.write_all(ANSWER).unwrap();
                    }
                }
            });
        }
    });
    address
}
