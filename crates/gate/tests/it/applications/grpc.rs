//! gRPC's own library calls its own server through gate: every kind of call, and every way in which
//! one can end.

use serde_json::json;

use crate::applications::stage::{Server, Stage, has_python, json as ask, python};

fn stage(backend: &Server) -> Stage {
    Stage::new(&format!(
        "[upstream.backend]\nservers = [\"http://127.0.0.1:{}\"]\nprotocol = \"h2\"\n\
         [[route]]\nupstream = \"backend\"\nauth = false\nstreams = true\n",
        backend.port
    ))
}

#[test]
fn grpc_works_through_gate() {
    if !has_python("grpc_works_through_gate", "grpc") {
        return;
    }
    let backend = Server::start(python("grpc_peer.py").arg("serve"));
    let stage = stage(&backend);
    let mut command = python("grpc_peer.py");
    command.arg("ask").arg(stage.https().port().to_string());
    let unary = json!(["hello", "own", "yes", "00ff"]);
    let expected = json!({
        "unary": unary,
        "large": true,
        "down": ["0", "1", "2", "3", "4"],
        "up": "300000",
        "both": [50, "re: 49"],
        // An answer that consists only of trailers.
        "refuse": ["FAILED_PRECONDITION", "not \u{fc}ber here"],
        "half": ["first", ["DATA_LOSS", "no second"]],
        "unknown": "UNIMPLEMENTED",
        // The server sees it, too.
        "deadline": ["DEADLINE_EXCEEDED", 1],
        "cancel": ["CANCELLED", 2],
        "again": unary,
    });
    let heard = ask(command.arg(stage.chain()));
    assert_eq!(heard, expected, "{heard:#}");
}
