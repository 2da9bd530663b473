//! Fuzzes Envoy's CheckRequest: every input is parsed or refused, and nothing is reported that is
//! not in it. The answer of a health check has the same framing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::ext_authz::{CheckRequest, write_allowed, write_denied};
use roundtrip_wire::grpc_health::ServingStatus;

fuzz_target!(|bytes: &[u8]| {
    let _ = ServingStatus::parse(bytes);
    let Ok(request) = CheckRequest::parse(bytes) else {
        return;
    };
    let read: usize = request.fields.iter().map(|(n, v)| n.len() + v.len()).sum();
    assert!(read + request.path.len() + request.host.len() <= bytes.len());
    assert!(request.fields.iter().all(|(name, _)| !name.starts_with(':')));
    let names = request.fields.iter().map(|(name, _)| *name);
    let allowed = write_allowed(request.fields.iter().copied(), names);
    let denied = write_denied(401, request.fields.iter().copied(), request.path.as_bytes());
    for message in [allowed, denied] {
        let length = u32::from_be_bytes([message[1], message[2], message[3], message[4]]);
        assert_eq!(length as usize + 5, message.len());
    }
});
