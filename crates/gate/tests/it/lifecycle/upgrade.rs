//! A second process takes over the same addresses: new clients are served by one or the other, and
//! open connections are not cut.
//!
//! The kernel resets a connection that arrives at a listener at the moment in which it closes
//! (tcp_migrate_req changes that): each client may meet this once for each listener.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use roundtrip_gate::Gate;

use crate::lifecycle::scene::{Client, PATIENCE, Scene, backend};

/// The scene's gate has two threads.
const LISTENERS: usize = 2;

#[test]
fn a_second_gate_on_the_same_addresses_takes_over() {
    let ((one, _one), (two, _two)) = (backend("one"), backend("two"));
    let mut scene = Scene::new(one, "");
    let field = scene.session("s1", "somebody:secret");
    let addresses = scene.gate().addresses().clone();
    let at = addresses.http[0];
    let (ended, served) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (field, ended, served) = (field.clone(), ended.clone(), served.clone());
            std::thread::spawn(move || {
                let (mut of_two, mut unheard) = (0, 0);
                while !ended.load(Ordering::SeqCst) {
                    let Some((status, body)) = Client::to(at).try_get("/", &field) else {
                        unheard += 1;
                        continue;
                    };
                    assert_eq!(status, 200, "{body}");
                    of_two += usize::from(body.starts_with("two"));
                    served.fetch_add(1, Ordering::SeqCst);
                }
                assert!(unheard <= LISTENERS, "{unheard}");
                of_two
            })
        })
        .collect();
    let reach = |more: usize| {
        let until = served.load(Ordering::SeqCst) + more;
        let begun = std::time::Instant::now();
        while served.load(Ordering::SeqCst) < until && begun.elapsed() < PATIENCE {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    };
    reach(20);
    // As the same file would say it, except for the upstream.
    let mut config = Scene::config(&scene.folder, two, "");
    config.listen.http = addresses.http.clone();
    config.admin.listen = addresses.admin;
    let second = Gate::start(config, |_| ()).unwrap();
    assert_eq!(second.addresses(), &addresses);
    reach(50);
    let first = scene.gate.take().unwrap();
    assert_eq!(first.drain(PATIENCE), 0, "nobody was cut off");
    reach(50);
    ended.store(true, Ordering::SeqCst);
    let of_two: usize = clients.into_iter().map(|c| c.join().unwrap()).sum();
    assert!(of_two >= 50, "{of_two}");
    assert!(Client::to(at).get("/", &field).1.starts_with("two"));
}
