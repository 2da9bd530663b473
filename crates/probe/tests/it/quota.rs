//! A client whose cgroup is limited to a fifth of a processor, which it shares with a busy loop.
//! The server and the path are outside the cgroup.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use roundtrip_model::{Event, Target};
use roundtrip_origin::Knobs;
use roundtrip_probe::{Options, Prober};

use crate::scene::Scene;

const URL: &str = "ROUNDTRIP_TEST_URL";

/// A cgroup with a quota; dropping it removes it.
struct Group(PathBuf);

impl Group {
    /// `None` where cgroups cannot be made, as for most ordinary users.
    fn new() -> Option<Self> {
        let second = ("/sys/fs/cgroup", "cgroup.controllers", "cpu.max");
        let first = (
            "/sys/fs/cgroup/cpu",
            "cpu.cfs_period_us",
            "cpu.cfs_quota_us",
        );
        let (root, _, file) = [second, first]
            .into_iter()
            .find(|(root, sign, _)| Path::new(root).join(sign).exists())?;
        let name = format!("roundtrip-test-{}", std::process::id());
        let group = Self(Path::new(root).join(name));
        fs::create_dir(&group.0).ok()?;
        let quota = if file == second.2 {
            "26000 130000"
        } else {
            fs::write(group.0.join(first.1), "130000").ok()?;
            "26000"
        };
        let file = group.0.join(file);
        (file.exists() && fs::write(file, quota).is_ok()).then_some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_client_whose_quota_is_used_up_says_so() {
    let Some(group) = Group::new() else {
        eprintln!("SKIPPED a_client_whose_quota_is_used_up_says_so: cgroups cannot be made here");
        return;
    };
    let scene = Scene::new(Knobs::default());
    let url = format!("http://{}/bytes/10", scene.origin.http);
    let mut shell = scene.path.client().command("sh");
    let join = r#"echo $$ > "$0" && exec "$@""#;
    let outcome = shell
        .args(["-c", join])
        .arg(group.0.join("cgroup.procs"))
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "quota::inside", "--ignored", "--nocapture"])
        .env(URL, url)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&outcome.stdout);
    let error = String::from_utf8_lossy(&outcome.stderr);
    assert!(outcome.status.success(), "{told}{error}");
    assert!(told.contains("1 passed"), "{told}{error}");
}

/// The part of the test that runs under the quota.
#[test]
#[ignore = "is run by the test above"]
fn inside() {
    let target = Target::parse(&std::env::var(URL).unwrap()).unwrap();
    std::thread::spawn(|| {
        loop {
            std::hint::spin_loop();
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let is_told = |event: &Event| {
        let long = Duration::from_millis(10);
        matches!(event, Event::Starved { took, throttled: true } if *took > long)
    };
    let told = runtime.block_on(async {
        let mut prober = Prober::new(Options {
            strategy: "h1+clear".parse().unwrap(),
            ..Options::default()
        });
        for run in 0..64 {
            let exchanges = prober.run(&target, run, &mut std::io::sink()).await;
            let mut events = exchanges.iter().flat_map(|e| e.timeline.iter());
            if events.any(|(_, event)| is_told(event)) {
                return true;
            }
            // Work that ends with a period of the quota would begin with the next one each time.
            tokio::time::sleep(Duration::from_millis(u64::from(run % 10) * 13)).await;
        }
        false
    });
    let account = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    assert!(told, "never throttled while it waited, in {account}");
}
