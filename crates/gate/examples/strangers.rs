//! Floods a server with first datagrams from spoofed addresses: `strangers ADDRESS COUNT [KIND]`,
//! that many of one kind or of each of six kinds. Prints for each kind the numbers of datagrams
//! sent, Retries, and other answers.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a panic says what went wrong

#[path = "../tests/memory/flood.rs"]
mod flood;
#[path = "../../quic/tests/world/strangers.rs"]
mod strangers;
#[allow(dead_code, reason = "tests use all of it")]
#[path = "../../../tests/tls_client.rs"]
mod tls_client;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let (to, count): (_, u32) = (words[1].parse().unwrap(), words[2].parse().unwrap());
    for (number, kind) in (0..).zip(strangers::KINDS) {
        if words
            .get(3)
            .is_some_and(|wanted| *wanted != format!("{kind:?}"))
        {
            continue;
        }
        let answers = flood::flood(to, kind, number * count, count);
        println!("{kind:?} {count} {} {}", answers.retries, answers.others);
    }
}
