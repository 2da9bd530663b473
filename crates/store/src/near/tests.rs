//! Tests of the near cache with a scripted store, on the clock of timers.

mod fleet;
mod script;

use std::time::SystemTime;

use tokio::task::{LocalSet, yield_now};
use tokio::time::advance;

use super::*;
use script::Script;

struct Scene {
    script: Rc<Script>,
    near: Rc<Near<Rc<Script>>>,
}

impl Scene {
    fn new(settings: NearSettings) -> Self {
        let script = Rc::new(Script::default());
        script.set("a", "YTpi");
        let near = Rc::new(Near::new(script.clone(), settings));
        Self { script, near }
    }

    fn graced(seconds: u64) -> Self {
        Self::new(NearSettings {
            grace: Duration::from_secs(seconds),
            ..NearSettings::default()
        })
    }

    fn run(&self) {
        tokio::task::spawn_local(self.near.clone().run());
    }

    async fn status(&self, sid: &str) -> Option<CacheStatus> {
        self.near.get(sid).await.unwrap().map(|f| f.status)
    }

    async fn handle(&self, sid: &str) -> Revoked {
        self.near.get(sid).await.unwrap().unwrap().revoked
    }
}

fn default() -> Scene {
    Scene::new(NearSettings::default())
}

async fn settle() {
    for _ in 0..50 {
        yield_now().await;
    }
}

fn local(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    // In virtual time, so a wait that never ends is detected at once.
    let bounded = async { tokio::time::timeout(Duration::from_hours(1), test).await };
    let outcome = LocalSet::new().block_on(&runtime, bounded);
    outcome.expect("the test ends");
}

#[test]
fn a_known_session_is_not_asked_for_again_until_it_changes() {
    local(async {
        let scene = default();
        assert_eq!(scene.status("a").await, Some(CacheStatus::Miss));
        for _ in 0..10 {
            assert_eq!(scene.status("a").await, Some(CacheStatus::Hit));
        }
        assert_eq!(scene.script.gets.get(), 1);
        scene.script.sessions.borrow_mut().clear();
        scene.script.touch("a");
        // The change is received before the answer, whether or not `run` listens.
        assert_eq!(scene.status("a").await, None);
        assert_eq!(scene.script.gets.get(), 2);
        assert_eq!(scene.status("a").await, None);
        assert_eq!(scene.script.gets.get(), 2);
        scene.script.set("a", "YTpi");
        scene.script.touch("a");
        assert_eq!(scene.status("a").await, Some(CacheStatus::Miss));
        let counts = scene.near.counts();
        assert_eq!((counts.hits, counts.absent_hits, counts.asked), (10, 1, 3));
    });
}

#[test]
fn a_revocation_fires_and_a_prolongation_does_not() {
    local(async {
        let scene = default();
        scene.run();
        let handle = scene.handle("a").await;
        scene.script.touch("a");
        settle().await;
        assert!(!handle.is_fired());
        assert_eq!(scene.status("a").await, Some(CacheStatus::Hit));
        scene.script.sessions.borrow_mut().clear();
        scene.script.touch("a");
        handle.fired().await;
        assert_eq!(scene.status("a").await, None);
    });
}

#[test]
fn changed_credentials_make_another_session() {
    local(async {
        let scene = default();
        scene.run();
        let handle = scene.handle("a").await;
        scene.script.set("a", "Yjpj");
        scene.script.touch("a");
        handle.fired().await;
        let found = scene.near.get("a").await.unwrap().unwrap();
        assert_eq!(found.record.credentials, b"Yjpj");
        assert!(!found.revoked.is_fired());
    });
}

#[test]
fn revoke_fires_at_once() {
    local(async {
        let scene = default();
        let handle = scene.handle("a").await;
        assert!(scene.near.revoke("a").await.unwrap());
        assert!(handle.is_fired());
        assert_eq!(scene.status("a").await, None);
        assert!(!scene.near.revoke("a").await.unwrap());
    });
}

#[test]
fn a_lost_connection_flushes_all_and_no_session_continues_by_default() {
    local(async {
        let scene = default();
        scene.run();
        let handle = scene.handle("a").await;
        scene.script.set("b", "YTpi");
        scene.status("b").await;
        scene.script.go_down();
        handle.fired().await;
        assert_eq!(scene.near.len(), 0);
        for sid in ["a", "b"] {
            let error = scene.near.get(sid).await.err().unwrap();
            assert!(error.is_outage());
        }
        scene.script.come_back();
        assert_eq!(scene.status("a").await, Some(CacheStatus::Miss));
    });
}

#[test]
fn after_a_short_loss_only_revoked_sessions_fire() {
    local(async {
        let scene = default();
        scene.script.set("b", "YTpi");
        scene.run();
        let (a, b) = (scene.handle("a").await, scene.handle("b").await);
        scene.script.sessions.borrow_mut().remove("b");
        scene.script.say(Change::Lost(StorePart::Whole));
        b.fired().await;
        settle().await;
        assert!(!a.is_fired());
        assert_eq!(scene.status("a").await, Some(CacheStatus::Hit));
    });
}

#[test]
fn grace_continues_known_sessions_for_its_time_and_no_others() {
    local(async {
        let scene = Scene::graced(30);
        scene.run();
        let handle = scene.handle("a").await;
        scene.script.set("b", "YTpi");
        scene.status("b").await;
        scene.script.set("c", "YTpi");
        scene.script.go_down();
        settle().await;
        assert_eq!(scene.near.len(), 0);
        assert_eq!(scene.status("a").await, Some(CacheStatus::Stale));
        assert_eq!(scene.status("b").await, Some(CacheStatus::Stale));
        assert!(scene.near.get("c").await.err().unwrap().is_outage());
        advance(Duration::from_secs(29)).await;
        settle().await;
        assert_eq!(scene.status("b").await, Some(CacheStatus::Stale));
        assert!(!handle.is_fired());
        advance(Duration::from_secs(1)).await;
        handle.fired().await;
        assert!(scene.near.get("b").await.err().unwrap().is_outage());
    });
}

/// The order occurs when a server is gone: a request is refused before the end of its connection is
/// read.
#[test]
fn grace_applies_before_the_store_says_that_changes_were_lost() {
    local(async {
        let scene = Scene::graced(30);
        scene.run();
        let handle = scene.handle("a").await;
        scene.script.down.set(true);
        let found = scene.near.get("a").await.unwrap().unwrap();
        assert_eq!(found.status, CacheStatus::Stale);
        scene.script.say(Change::Lost(StorePart::Whole));
        settle().await;
        assert!(!handle.is_fired());
        scene.script.sessions.borrow_mut().clear();
        scene.script.come_back();
        settle().await;
        assert!(handle.is_fired());
    });
}

#[test]
fn grace_does_not_apply_to_a_touched_session() {
    local(async {
        let scene = Scene::graced(30);
        let handle = scene.handle("a").await;
        scene.script.touch("a");
        scene.script.go_down();
        assert!(scene.near.get("a").await.err().unwrap().is_outage());
        assert!(handle.is_fired());
    });
}

#[test]
fn when_the_store_is_back_within_grace_only_revoked_sessions_fire() {
    local(async {
        let scene = Scene::graced(30);
        scene.script.set("b", "YTpi");
        scene.run();
        let (a, b) = (scene.handle("a").await, scene.handle("b").await);
        scene.script.go_down();
        settle().await;
        assert!(!a.is_fired() && !b.is_fired());
        scene.script.sessions.borrow_mut().remove("b");
        scene.script.come_back();
        b.fired().await;
        advance(Duration::from_mins(1)).await;
        settle().await;
        assert!(!a.is_fired());
    });
}

#[test]
fn concurrent_requests_wait_for_one_answer() {
    local(async {
        let scene = default();
        scene.script.held_back.set(true);
        let asking: Vec<_> = (0..20)
            .map(|_| {
                let near = scene.near.clone();
                tokio::task::spawn_local(async move { near.get("a").await.unwrap().is_some() })
            })
            .collect();
        settle().await;
        assert_eq!(scene.script.gets.get(), 1);
        scene.script.go.notify_one();
        for one in asking {
            assert!(one.await.unwrap());
        }
        assert_eq!(scene.near.counts().joined, 19);
    });
}

#[test]
fn when_the_asking_task_is_cancelled_the_next_one_asks() {
    local(async {
        let scene = default();
        scene.script.held_back.set(true);
        let ask = || {
            let near = scene.near.clone();
            tokio::task::spawn_local(async move { near.get("a").await.unwrap().is_some() })
        };
        let (first, second) = (ask(), ask());
        settle().await;
        first.abort();
        settle().await;
        assert_eq!(scene.script.gets.get(), 2);
        scene.script.go.notify_waiters();
        assert!(second.await.unwrap());
    });
}

#[test]
fn an_answer_that_a_revocation_overtakes_is_discarded() {
    local(async {
        let scene = default();
        scene.script.held_back.set(true);
        let near = scene.near.clone();
        let asking = tokio::task::spawn_local(async move { near.get("a").await });
        settle().await;
        // The answer is ready; before it arrives, the session is revoked.
        scene.script.sessions.borrow_mut().clear();
        scene.script.touch("a");
        scene.script.held_back.set(false);
        scene.script.go.notify_one();
        assert!(asking.await.unwrap().unwrap().is_none());
    });
}

/// The session's holder does not wait for another answer.
#[test]
fn what_is_held_ends_with_the_first_answer_that_the_session_is_gone() {
    local(async {
        let scene = default();
        scene.run();
        let handle = scene.handle("a").await;
        scene.script.held_back.set(true);
        scene.script.sessions.borrow_mut().clear();
        scene.script.touch("a");
        settle().await;
        // The answer is ready; before it arrives, the session is stored again.
        scene.script.set("a", "YTpi");
        scene.script.touch("a");
        settle().await;
        scene.script.go.notify_one();
        settle().await;
        assert!(handle.is_fired());
    });
}

#[test]
fn a_store_that_reports_no_changes_is_asked_each_time() {
    local(async {
        let scene = default();
        scene.script.silent.set(true);
        scene.run();
        let handle = scene.handle("a").await;
        assert_eq!(scene.status("a").await, Some(CacheStatus::Miss));
        assert_eq!(scene.script.gets.get(), 2);
        scene.script.sessions.borrow_mut().clear();
        // No request asks for it, but its holder still learns of the revocation.
        handle.fired().await;
    });
}

#[test]
fn an_expiry_that_was_set_fires() {
    local(async {
        let scene = default();
        let end = SystemTime::UNIX_EPOCH + Duration::from_secs(10);
        let record = Record::new("YTpi", Some(end));
        scene.near.put("a", &record).await.unwrap();
        let handle = scene.handle("a").await;
        assert!(!handle.is_fired());
        handle.fired().await;
        scene.script.sessions.borrow_mut().clear();
        assert_eq!(scene.status("a").await, None);
    });
}

#[test]
fn invalid_names_are_not_asked_for() {
    local(async {
        let scene = default();
        for sid in [String::new(), "x".repeat(crate::MAX_SID + 1)] {
            assert_eq!(scene.status(&sid).await, None);
        }
        assert_eq!(scene.script.gets.get(), 0);
    });
}

#[test]
fn peek_returns_what_get_would_without_asking() {
    local(async {
        let scene = Scene::graced(30);
        let peek = |sid: &str| scene.near.peek(sid).map(|f| f.status);
        assert_eq!(peek("a"), None);
        let found = scene.near.get("a").await.unwrap().unwrap();
        let same = || {
            scene
                .near
                .peek("a")
                .is_some_and(|f| Rc::ptr_eq(&f.record, &found.record))
        };
        let holds = || scene.near.holds("a", &found.kept);
        assert_eq!(peek("a"), Some(CacheStatus::Hit));
        assert!(same() && holds());
        assert_eq!(scene.script.gets.get(), 1);
        // The store is down: admitted by grace, and no longer than that.
        scene.script.go_down();
        assert_eq!(peek("a"), Some(CacheStatus::Stale));
        assert!(same() && holds());
        assert_eq!(peek("b"), None);
        advance(Duration::from_secs(30)).await;
        assert_eq!(peek("a"), None);
        assert!(!holds());
        assert_eq!(scene.script.gets.get(), 1);
    });
}

#[test]
fn a_changed_session_does_not_hold_although_run_is_not_running() {
    local(async {
        let scene = default();
        let found = scene.near.get("a").await.unwrap().unwrap();
        let holds = |kept: &EntryHandle| scene.near.holds("a", kept);
        assert!(holds(&found.kept));
        scene.script.touch("a");
        assert!(!holds(&found.kept));
        assert!(scene.near.peek("a").is_none());
        let again = scene.near.get("a").await.unwrap().unwrap();
        assert!(holds(&again.kept) && !holds(&found.kept));
        assert!(scene.near.hold("a", &found.kept).is_none());
        scene.near.revoke("a").await.unwrap();
        assert!(!holds(&again.kept));
    });
}

#[test]
fn nothing_holds_when_the_store_reports_no_changes_and_is_up() {
    local(async {
        let scene = Scene::graced(30);
        scene.script.silent.set(true);
        let found = scene.near.get("a").await.unwrap().unwrap();
        assert!(scene.near.peek("a").is_none());
        assert!(!scene.near.holds("a", &found.kept));
        // Held, and therefore asked for every second.
        scene.run();
        let held = scene.near.hold("a", &found.kept).unwrap();
        drop(found);
        scene.script.sessions.borrow_mut().clear();
        held.fired().await;
    });
}

#[test]
fn checking_whether_it_holds_keeps_nothing_open() {
    local(async {
        let scene = default();
        scene.run();
        let kept = scene.near.get("a").await.unwrap().unwrap().kept;
        let asked = scene.script.gets.get();
        scene.script.touch("a");
        settle().await;
        assert_eq!(scene.script.gets.get(), asked);
        assert!(!scene.near.holds("a", &kept));
        let found = scene.near.get("a").await.unwrap().unwrap();
        let held = scene.near.hold("a", &found.kept).unwrap();
        scene.script.sessions.borrow_mut().clear();
        scene.script.touch("a");
        held.fired().await;
    });
}
