//! Fuzzes /etc/resolv.conf and the names it leads to.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::resolv_conf::ResolvConf;

fuzz_target!(|input: (&str, &str)| {
    let (text, name) = input;
    let conf = ResolvConf::parse(text);
    assert!(!conf.name_servers.is_empty() && conf.name_servers.len() <= 3);
    assert!(conf.ndots <= 15 && conf.attempts >= 1);
    assert!(!conf.candidates(name).is_empty());
});
