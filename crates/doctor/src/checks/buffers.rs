//! Socket buffers: how much can be in flight, and hence how fast a long path can be.

use crate::check::{Area, Check, CheckStatus, CheckSubject};
use crate::probes::Probes;
use crate::scene::ExaminedSystem;

const RECEIVE: CheckSubject = CheckSubject::new("tcp-receive-buffer", Area::Tcp, "Receive buffer");
const SEND: CheckSubject = CheckSubject::new("tcp-send-buffer", Area::Tcp, "Send buffer");
const UNSENT: CheckSubject = CheckSubject::new("tcp-notsent-lowat", Area::Tcp, "Unsent data");

/// The round trip that limits are computed for: Europe to the eastern United States.
const ROUND_TRIP_MS: u64 = 90;
/// Rates below these, in Mbit/s, are worth a remark.
const COMFORTABLE_MBIT: u64 = 100;
const MEAGRE_MBIT: u64 = 10;

pub(super) fn examine(scene: &ExaminedSystem, _probes: &Probes) -> Vec<Check> {
    vec![receive(scene), send(scene), unsent(scene)]
}

fn receive(scene: &ExaminedSystem) -> Check {
    let [least, first, most] = match scene.numbers("net.ipv4.tcp_rmem") {
        Ok(numbers) => numbers,
        Err(lack) => {
            return RECEIVE.unknown(lack, "Nothing shows how fast a long path can be read.");
        }
    };
    let value = format!(
        "tcp_rmem {least} {first} {most}{}",
        ceiling(scene, "rmem_max")
    );
    if let Ok(0) = scene.number::<u8>("net.ipv4.tcp_moderate_rcvbuf") {
        return RECEIVE
            .problem(
                value,
                format!(
                    "The kernel does not grow receive buffers (tcp_moderate_rcvbuf 0): connections keep their initial {}, about {} at {ROUND_TRIP_MS} ms.",
                    size(first),
                    rate(first / 2)
                ),
            )
            .change("sysctl -w net.ipv4.tcp_moderate_rcvbuf=1");
    }
    // The window starts at half of the buffer; the rest is for the kernel's bookkeeping.
    let window = most / 2;
    RECEIVE
        .found(
            judge(window),
            value,
            format!(
                "Grows up to a window of about {} (half of the maximum): at {ROUND_TRIP_MS} ms one \
                 connection receives at most about {}. A program that sets SO_RCVBUF itself is \
                 held to rmem_max and loses the growth.",
                size(window),
                rate(window)
            ),
        )
        .change_if(
            judge(window) != CheckStatus::Good,
            raise("tcp_rmem", least, first),
        )
}

fn send(scene: &ExaminedSystem) -> Check {
    let [least, first, most] = match scene.numbers("net.ipv4.tcp_wmem") {
        Ok(numbers) => numbers,
        Err(lack) => {
            return SEND.unknown(lack, "Nothing shows how fast a long path can be filled.");
        }
    };
    // Unacknowledged data stays in the buffer, bookkeeping included.
    let window = most / 2;
    SEND.found(
        judge(window),
        format!(
            "tcp_wmem {least} {first} {most}{}",
            ceiling(scene, "wmem_max")
        ),
        format!(
            "Up to about {} can wait for acknowledgement (half of the maximum, the rest is \
             bookkeeping): at {ROUND_TRIP_MS} ms one connection sends at most about {}.",
            size(window),
            rate(window)
        ),
    )
    .change_if(
        judge(window) != CheckStatus::Good,
        raise("tcp_wmem", least, first),
    )
}

fn unsent(scene: &ExaminedSystem) -> Check {
    match scene.number::<u32>("net.ipv4.tcp_notsent_lowat") {
        Err(lack) => UNSENT.unknown(lack, "Nothing shows how much data queues before it is sent."),
        Ok(bytes) if bytes >= i32::MAX.cast_unsigned() => UNSENT
            .notice(
                "unlimited",
                "A server may queue megabytes in the kernel: an urgent HTTP/2 response then waits \
                 behind all that was written before it.",
            )
            .change(
                "sysctl -w net.ipv4.tcp_notsent_lowat=131072, or TCP_NOTSENT_LOWAT in the server",
            ),
        Ok(bytes) => UNSENT.good(
            size(u64::from(bytes)),
            "A socket takes more data only when less than this is unsent, so urgent data does not wait for long.",
        ),
    }
}

/// The limit on what programs may ask for, if it can be read.
fn ceiling(scene: &ExaminedSystem, name: &str) -> String {
    match scene.number::<u64>(&format!("net.core.{name}")) {
        Ok(bytes) => format!(", {name} {bytes}"),
        Err(_) => String::new(),
    }
}

fn judge(window: u64) -> CheckStatus {
    match megabits(window) {
        0..MEAGRE_MBIT => CheckStatus::Problem,
        MEAGRE_MBIT..COMFORTABLE_MBIT => CheckStatus::Notice,
        _ => CheckStatus::Good,
    }
}

fn raise(name: &str, least: u64, first: u64) -> String {
    format!("sysctl -w net.ipv4.{name}='{least} {first} 16777216'")
}

/// One window per round trip, in Mbit/s.
fn megabits(window: u64) -> u64 {
    window.saturating_mul(8) / (ROUND_TRIP_MS * 1000)
}

fn rate(window: u64) -> String {
    match megabits(window) {
        0 => "less than 1 Mbit/s".into(),
        mbit @ 1..10_000 => format!("{mbit} Mbit/s"),
        mbit => format!("{} Gbit/s", mbit / 1000),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..10_240 => format!("{bytes} B"),
        10_240..2_097_152 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::fake;

    #[test]
    fn a_window_a_round_trip_is_the_limit() {
        // 6 MiB, Linux's default for long: 3 MiB every 90 ms.
        let fake = fake::machine(&[("net.ipv4.tcp_rmem", "4096\t131072\t6291456\n")]);
        let check = fake.check(receive);
        assert!(check.meaning.contains("279 Mbit/s"), "{}", check.meaning);
        assert_eq!(check.value, "tcp_rmem 4096 131072 6291456");
        assert_eq!(check.status, CheckStatus::Good);
    }

    #[test]
    fn small_buffers_are_named_with_the_remedy() {
        let files = [
            ("net.ipv4.tcp_rmem", "4096 87380 174760"),
            ("net.core.rmem_max", "212992"),
            ("net.ipv4.tcp_wmem", "4096 16384 1048576"),
        ];
        let fake = fake::machine(&files);
        let check = fake.check(receive);
        assert_eq!(check.status, CheckStatus::Problem);
        assert!(check.value.ends_with("rmem_max 212992"));
        assert!(
            check
                .change
                .unwrap()
                .contains("tcp_rmem='4096 87380 16777216'")
        );
        assert_eq!(fake.check(send).status, CheckStatus::Notice);
    }

    #[test]
    fn a_buffer_that_cannot_grow_is_a_problem() {
        let files = [
            ("net.ipv4.tcp_rmem", "4096 131072 33554432"),
            ("net.ipv4.tcp_moderate_rcvbuf", "0"),
        ];
        assert_eq!(
            fake::machine(&files).check(receive).status,
            CheckStatus::Problem
        );
    }

    #[test]
    fn absurd_sizes_do_not_overflow() {
        let files = [("net.ipv4.tcp_rmem", "0 0 18446744073709551615")];
        assert_eq!(
            fake::machine(&files).check(receive).status,
            CheckStatus::Good
        );
    }

    #[test]
    fn unsent_data_is_unlimited_by_default() {
        let name = "net.ipv4.tcp_notsent_lowat";
        let check = fake::machine(&[(name, "4294967295")]).check(unsent);
        assert_eq!(
            (check.status, check.value.as_str()),
            (CheckStatus::Notice, "unlimited")
        );
        let check = fake::machine(&[(name, "131072")]).check(unsent);
        assert_eq!(
            (check.status, check.value.as_str()),
            (CheckStatus::Good, "128 KiB")
        );
    }
}
