//! The rate limiter with a clock that the test sets, and between processes with the system's clock.

use std::path::Path;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

const START: u64 = 1_790_000_000_000;
/// Set in a process of the test's own program that is one of several.
const DIRECTORY: &str = "ROUNDTRIP_TEST_MANNERS";

/// Sleeping advances the clock.
#[derive(Debug)]
struct AdvancingTimer(AtomicU64);

impl Timer for AdvancingTimer {
    fn now(&self) -> Stamp {
        Stamp(self.0.load(Ordering::Relaxed))
    }

    fn sleep(&self, span: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            // Lets other tasks take their turn first.
            tokio::task::yield_now().await;
            self.0.fetch_add(span.as_millis() as u64, Ordering::Relaxed);
        })
    }
}

fn rate_limiter(rules: Rules, memory: Memory) -> RateLimiter {
    let timer = Arc::new(AdvancingTimer(AtomicU64::new(START)));
    RateLimiter::new(rules, Arc::new(memory), timer, 7)
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.unwrap().block_on(future)
}

fn origin(host: &str) -> Authority {
    Authority::new(host, 443)
}

fn elapsed(rate_limiter: &RateLimiter) -> u64 {
    rate_limiter.timer.now().0 - START
}

#[test]
fn waiting_can_move_between_threads() {
    fn is_send(_: impl Send) {}
    let rate_limiter = rate_limiter(Rules::new(&[]), Memory::nowhere());
    let origin = origin("a.example");
    is_send(rate_limiter.acquire(&origin, false));
    let at = Stamp(START);
    let waited = Duration::ZERO;
    let permit = Permit {
        origin: origin.clone(),
        at,
        waited,
    };
    is_send(rate_limiter.heard(&permit, 429, None, 1));
}

#[test]
fn only_the_origin_that_complained_is_paused() {
    run(async {
        let rate_limiter = rate_limiter(Rules::new(&[]), Memory::nowhere());
        let (a, b) = (origin("a.example"), origin("b.example"));
        let permit = rate_limiter.acquire(&a, false).await.unwrap();
        let verdict = rate_limiter.heard(&permit, 429, Some(b"30"), 1).await;
        let until = Stamp(START + 30_000);
        assert_eq!(verdict, Verdict::AskAgain { until });
        rate_limiter.acquire(&b, false).await.unwrap();
        assert_eq!(elapsed(&rate_limiter), 0);
        let permit = rate_limiter.acquire(&a, false).await.unwrap();
        assert_eq!(permit.at, until);
        assert_eq!(permit.waited, Duration::from_secs(30));
    });
}

#[test]
fn a_pause_beyond_patience_is_reported() {
    run(async {
        let rate_limiter = rate_limiter(Rules::new(&[]), Memory::nowhere());
        let a = origin("a.example");
        let permit = rate_limiter.acquire(&a, false).await.unwrap();
        rate_limiter.heard(&permit, 503, Some(b"3600"), 1).await;
        let refusal = rate_limiter.acquire(&a, false).await.unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "a.example asked for a pause that ends in 3600 s; try again then, or wait for it with --patience"
        );
        assert_eq!(elapsed(&rate_limiter), 0);
    });
}

#[test]
fn a_query_is_given_up_after_a_few_times() {
    run(async {
        let rate_limiter = rate_limiter(Rules::new(&[]), Memory::nowhere());
        let a = origin("a.example");
        let mut asked = 0;
        let told = loop {
            let permit = rate_limiter.acquire(&a, false).await.unwrap();
            asked += 1;
            let verdict = rate_limiter.heard(&permit, 429, None, asked).await;
            if let Verdict::GiveUp { .. } = verdict {
                break verdict.to_string();
            }
        };
        assert_eq!(asked, 5);
        assert_eq!(
            told,
            "a.example answered 429 to each of 5 attempts; use a lower rate with --rate a.example=…"
        );
        // 1 + 2 + 4 + 8 seconds, each half to one and a half times as long, and the rest from the
        // rate.
        assert!(
            (7_500..25_000).contains(&elapsed(&rate_limiter)),
            "{}",
            elapsed(&rate_limiter)
        );
    });
}

#[test]
fn first_come_first_served() {
    run(async {
        let mut rules = Rules::new(&[]);
        rules.add("10/min").unwrap();
        let rate_limiter = rate_limiter(rules, Memory::nowhere());
        let a = origin("a.example");
        let order = Mutex::new(Vec::new());
        let ask = async |n: usize| {
            rate_limiter.acquire(&a, false).await.unwrap();
            order.lock().unwrap().push(n);
        };
        tokio::join!(ask(0), ask(1), ask(2), ask(3), ask(4));
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
        assert!((24_000..24_100).contains(&elapsed(&rate_limiter)));
    });
}

#[test]
fn without_a_limit_pauses_are_still_respected() {
    run(async {
        let mut rules = Rules::new(&[]);
        rules.add("off").unwrap();
        let rate_limiter = rate_limiter(rules, Memory::nowhere());
        let a = origin("a.example");
        let mut last = None;
        for _ in 0..10_000 {
            last = Some(rate_limiter.acquire(&a, false).await.unwrap());
        }
        assert_eq!(elapsed(&rate_limiter), 0);
        rate_limiter.heard(&last.unwrap(), 429, Some(b"9"), 1).await;
        rate_limiter.acquire(&a, false).await.unwrap();
        assert_eq!(elapsed(&rate_limiter), 9_000);
    });
}

const QUOTA: [PublishedLimits; 1] = [PublishedLimits {
    host: "quota.example",
    a_minute: None,
    personal: Some(1000),
    connections: None,
}];

#[test]
fn the_next_process_knows_the_state() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let memory = || Memory::open(&directory.path().join("m"), 0).unwrap();
        let (a, counted) = (origin("a.example"), origin("quota.example"));
        let first = rate_limiter(Rules::new(&QUOTA), memory());
        let permit = first.acquire(&a, false).await.unwrap();
        first.heard(&permit, 429, Some(b"60"), 1).await;
        first.timer.sleep(Duration::from_secs(1)).await;
        for _ in 0..1000 {
            first.acquire(&counted, true).await.unwrap();
        }
        let second = rate_limiter(Rules::new(&QUOTA), memory());
        second.timer.sleep(Duration::from_secs(110)).await;
        let refusal = second.acquire(&counted, true).await.unwrap_err();
        assert!(matches!(
            refusal,
            RateLimitError::QuotaSpent { quota: 1000, .. }
        ));
        second.acquire(&counted, false).await.unwrap();
        let third = rate_limiter(Rules::new(&QUOTA), memory());
        assert_eq!(
            third.acquire(&a, false).await.unwrap().at,
            Stamp(START + 60_000)
        );
    });
}

#[test]
fn a_process_without_the_lock_continues_alone() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let memory = Memory::open(directory.path(), 0);
        let rate_limiter = rate_limiter(Rules::new(&[]), memory.unwrap());
        let a = origin("a.example");
        rate_limiter.acquire(&a, false).await.unwrap();
        let path = directory.path().join("origins/a.example_443.limits");
        let held = std::fs::File::open(path).unwrap();
        held.lock().unwrap();
        let permit = rate_limiter.acquire(&a, false).await.unwrap();
        rate_limiter.heard(&permit, 429, Some(b"1"), 1).await;
        assert_eq!(elapsed(&rate_limiter), 200);
    });
}

#[test]
fn there_can_be_more_origins_than_open_files() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let memory = Memory::open(directory.path(), 0).unwrap();
        let rate_limiter = rate_limiter(Rules::new(&[]), memory);
        let open_files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let before = open_files();
        for n in 0..300 {
            let origin = origin(&format!("n{n}.example"));
            rate_limiter.acquire(&origin, false).await.unwrap();
        }
        // Other tests open a few files meanwhile.
        assert!(open_files() < before + 150);
    });
}

#[test]
fn a_damaged_file_starts_with_an_empty_bucket() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let a = origin("a.example");
        let path = directory.path().join("origins/a.example_443.limits");
        for damage in [&b"x"[..], &[0; 182], &[7; 4000]] {
            let memory = Memory::open(directory.path(), 0).unwrap();
            let rate_limiter = rate_limiter(Rules::new(&[]), memory);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, damage).unwrap();
            rate_limiter.acquire(&a, false).await.unwrap();
            assert_eq!(elapsed(&rate_limiter), 100);
            assert_eq!(std::fs::metadata(&path).unwrap().len(), 182);
        }
    });
}

#[test]
fn a_file_that_cannot_be_written_causes_one_note() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let memory = Memory::open(directory.path(), 0).unwrap();
        let rate_limiter = rate_limiter(Rules::new(&[]), memory);
        let a = origin("full.example");
        // Opened for reading only, so writing fails, as on a full disk.
        let path = directory.path().join("empty");
        std::fs::write(&path, "").unwrap();
        let file = crate::memory::limits::LimitsFile::from_file(std::fs::File::open(path).unwrap());
        let gate = Gate::new(rate_limiter.rules.limit(&a), None, Some(file), Stamp(START));
        let gate = Arc::new(gate);
        rate_limiter.gates.lock().unwrap().insert(a.clone(), gate);
        for _ in 0..25 {
            rate_limiter.acquire(&a, false).await.unwrap();
        }
        // A burst of twenty: no token was taken twice.
        assert_eq!(elapsed(&rate_limiter), 500);
        let notes = rate_limiter.memory.notes();
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(
            notes[0].contains("the rate limit of full.example is not shared"),
            "{notes:?}"
        );
    });
}

/// Takes tokens for half a second and prints when it got each.
#[test]
fn one_of_several_processes() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    run(async {
        let mut rules = Rules::new(&[]);
        rules.add("100/s").unwrap();
        let memory = Memory::open(Path::new(&directory), 0).unwrap();
        let rate_limiter = RateLimiter::new(rules, Arc::new(memory), Arc::new(SystemTimer), 7);
        for _ in 0..150 {
            let permit = rate_limiter
                .acquire(&origin("a.example"), false)
                .await
                .unwrap();
            println!("at {}", permit.at.0);
        }
    });
}

#[test]
fn processes_together_keep_the_limit() {
    let directory = tempfile::tempdir().unwrap();
    let start = |_| {
        Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "rate_limiter::tests::one_of_several_processes",
                "--nocapture",
            ])
            .env(DIRECTORY, directory.path().join("m"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let processes: Vec<_> = (0..3).map(start).collect();
    let mut given: Vec<u64> = Vec::new();
    for process in processes {
        let output = process.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        let before = given.len();
        // The test's own line can precede the first.
        given.extend(
            text.lines()
                .filter_map(|line| line.rsplit_once("at ")?.1.parse::<u64>().ok()),
        );
        assert_eq!(given.len() - before, 150);
    }
    given.sort_unstable();
    for (first, from) in given.iter().enumerate() {
        for (last, to) in given.iter().enumerate().skip(first) {
            let most = 200.0 + 100.0 * (to - from) as f64 / 1000.0;
            assert!((last - first + 1) as f64 <= most, "{first}..={last}");
        }
    }
}
