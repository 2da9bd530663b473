//! `gate token`: prints a token on standard output, for a shell's command substitution.

use std::time::SystemTime;

use roundtrip_gate::manage::{Token, TokenRequest, TokenTransport};

use super::source;
use crate::cli::GateTokenArgs;
use crate::output::{Outcome, OutputStream, failed};

pub(super) fn run(args: &GateTokenArgs) -> Outcome {
    let config = match source::read(&args.from) {
        Ok(config) => config,
        Err(error) => return failed(&error),
    };
    let now = SystemTime::now();
    let end = args.expires.after(now);
    let lifetime = end.and_then(|end| end.duration_since(now).ok());
    let order = TokenRequest {
        subject: &args.sub,
        sid: &args.sid,
        // The manager refuses an end in the past.
        lifetime: lifetime.unwrap_or_default(),
        transport: if args.cookie {
            TokenTransport::Cookie
        } else {
            TokenTransport::Bearer
        },
        key: args.key.as_deref(),
    };
    match Token::sign(&config, &order, now) {
        Ok(token) => {
            let whole = args.cookie || args.bearer;
            let shown = if whole { token.field } else { token.value };
            OutputStream::Out.print([shown.expose(), b"\n"].concat());
            Outcome::Done
        }
        Err(error) => failed(&error),
    }
}
