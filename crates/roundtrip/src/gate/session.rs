//! `gate session`: passes requests to the manager of sessions and prints its answers, which never
//! contain a password.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::time::SystemTime;

use roundtrip_gate::GateError;
use roundtrip_gate::manage::{CredentialForm, SessionInfo, SessionManager};
use roundtrip_rdap::answer::Date;
use roundtrip_report::clean;
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::task::LocalSet;

use super::login::{self, LoginError};
use super::source;
use crate::cli::{GateConfigArgs, GateSessionArgs, SessionCommand, SessionPutArgs};
use crate::output::{Outcome, OutputStream, failed, say};

/// The number of names that are requested from the store at once.
const PAGE: usize = 1000;

#[derive(Debug, thiserror::Error)]
enum SessionCommandError {
    #[error(transparent)]
    Gate(#[from] GateError),
    #[error(transparent)]
    Login(#[from] LoginError),
    #[error("cannot read {path}: {source}")]
    Unreadable { path: String, source: io::Error },
    #[error("cannot start: {0}")]
    Runtime(io::Error),
    #[error("the session would expire too far in the future")]
    End,
}

pub(super) fn run(args: &GateSessionArgs) -> Outcome {
    let outcome = match &args.command {
        SessionCommand::Put(args) => put(args),
        SessionCommand::Show {
            from,
            sid,
            reveal_user,
            json,
        } => show(from, sid, *reveal_user, *json),
        SessionCommand::List { from, json } => list(from, *json),
        SessionCommand::Revoke { from, sid } => revoke(from, sid),
        SessionCommand::Import { from, file } => import(from, file),
        SessionCommand::Seal { from } => seal(from),
    };
    outcome.unwrap_or_else(|error| failed(&error))
}

/// The store's connection lives on a `LocalSet`.
fn keep<T>(
    from: &GateConfigArgs,
    work: impl AsyncFnOnce(&SessionManager) -> Result<T, SessionCommandError>,
) -> Result<T, SessionCommandError> {
    let config = source::read(from)?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(SessionCommandError::Runtime)?;
    LocalSet::new().block_on(&runtime, async {
        let manager = SessionManager::open(&config)?;
        work(&manager).await
    })
}

fn put(args: &SessionPutArgs) -> Result<Outcome, SessionCommandError> {
    let end = |end: crate::cli::End| end.after(SystemTime::now()).ok_or(SessionCommandError::End);
    let expires = args.expires.map(end).transpose()?;
    let login = login::read(args)?;
    let put = async |manager: &SessionManager| Ok(manager.put(&args.sid, &login, expires).await?);
    let form = keep(&args.from, put)?;
    let told = format!(
        "the session {} is stored, {}, {}",
        clean(&args.sid),
        described(&form),
        expires.map_or("never expires".into(), |end| format!(
            "until {}",
            stamp(end)
        )),
    );
    say(&told);
    Ok(Outcome::Done)
}

fn show(
    from: &GateConfigArgs,
    sid: &str,
    reveal: bool,
    json: bool,
) -> Result<Outcome, SessionCommandError> {
    let shown = keep(from, async |manager| Ok(manager.show(sid).await?))?;
    let Some(shown) = shown else {
        return Ok(unknown(sid));
    };
    if json {
        OutputStream::Out.print_json(&format!("{:#}\n", document(&shown, reveal)));
    } else {
        OutputStream::Out.print(text(&shown, reveal));
    }
    Ok(Outcome::Done)
}

fn document(shown: &SessionInfo, reveal: bool) -> Value {
    let user = shown.user.as_ref().ok().filter(|_| reveal);
    json!({
        "schema": "roundtrip/gate-session/1",
        "sid": shown.sid,
        "form": shown.form,
        "expires": shown.expires.map(stamp),
        "usable": shown.user.is_ok(),
        "why_not": shown.user.as_ref().err().map(ToString::to_string),
        "user": user,
    })
}

fn text(shown: &SessionInfo, reveal: bool) -> String {
    let whose = match &shown.user {
        Ok(user) if reveal => format!("user     {}\n", clean(user)),
        Ok(_) => String::new(),
        Err(why) => format!("unusable: {}\n", clean(&why.to_string())),
    };
    format!(
        "session  {}\n{whose}stored   {}\nends     {}\n",
        clean(&shown.sid),
        described(&shown.form),
        shown.expires.map_or("never".into(), stamp)
    )
}

fn list(from: &GateConfigArgs, json: bool) -> Result<Outcome, SessionCommandError> {
    // Redis may return a name twice, and in any order.
    let sids = keep(from, async |manager| {
        let (mut sids, mut after) = (BTreeSet::new(), None::<String>);
        loop {
            let page = manager.list(after.as_deref(), PAGE).await?;
            sids.extend(page.sids);
            after = page.next;
            if after.is_none() {
                return Ok(sids);
            }
        }
    })?;
    if json {
        let document = json!({ "schema": "roundtrip/gate-sessions/1", "sids": sids });
        OutputStream::Out.print_json(&format!("{document:#}\n"));
    } else {
        let lines: String = sids.iter().map(|sid| clean(sid) + "\n").collect();
        OutputStream::Out.print(lines);
    }
    Ok(Outcome::Done)
}

fn revoke(from: &GateConfigArgs, sid: &str) -> Result<Outcome, SessionCommandError> {
    let was_there = keep(from, async |manager| Ok(manager.revoke(sid).await?))?;
    if !was_there {
        return Ok(unknown(sid));
    }
    say(&format!("the session {} is revoked", clean(sid)));
    Ok(Outcome::Done)
}

fn import(from: &GateConfigArgs, file: &Path) -> Result<Outcome, SessionCommandError> {
    let input: Box<dyn BufRead> = if file == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        let opened = File::open(file).map_err(|source| SessionCommandError::Unreadable {
            path: file.display().to_string(),
            source,
        });
        Box::new(BufReader::new(opened?))
    };
    let name = file.display();
    let told = |line: u64, error: &GateError| {
        say(&format!("{name}:{line}: {error}"));
    };
    let imported = keep(from, async |manager| Ok(manager.import(input, told).await))?;
    let rest = if imported.stopped {
        "; the rest was not read"
    } else {
        ""
    };
    say(&format!(
        "{} stored, {} already expired, {} failed{rest}",
        imported.stored, imported.expired, imported.failed
    ));
    Ok(done_unless(imported.failed))
}

fn seal(from: &GateConfigArgs) -> Result<Outcome, SessionCommandError> {
    let told = |sid: &str, error: &GateError| {
        say(&format!("{}: {error}", clean(sid)));
    };
    let sealed = keep(from, async |manager| Ok(manager.seal(told).await?))?;
    let rest = if sealed.stopped {
        "; the rest was not processed"
    } else {
        ""
    };
    say(&format!(
        "{} sealed, {} already sealed, {} removed meanwhile, {} failed{rest}",
        sealed.sealed, sealed.kept, sealed.gone, sealed.failed
    ));
    Ok(done_unless(sealed.failed))
}

fn done_unless(failed: u64) -> Outcome {
    if failed == 0 {
        Outcome::Done
    } else {
        Outcome::Failed
    }
}

fn unknown(sid: &str) -> Outcome {
    failed(&format!("there is no session {}", clean(sid)))
}

fn described(form: &CredentialForm) -> String {
    match form {
        CredentialForm::Sealed(key) => format!("sealed with the key '{}'", clean(key)),
        CredentialForm::Plain => "not sealed".into(),
        CredentialForm::Cbc => "in the old AES-256-CBC form".into(),
        CredentialForm::Login => "a login by a browser, sealed".into(),
    }
}

fn stamp(time: SystemTime) -> String {
    Date::at(time).stamp()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    fn session(user: &str) -> SessionInfo {
        SessionInfo {
            sid: "a\u{1b}[2J".into(),
            form: CredentialForm::Sealed("k".into()),
            expires: Some(UNIX_EPOCH + Duration::from_hours(525_960)),
            user: Ok(user.into()),
        }
    }

    #[test]
    fn a_session_is_told_without_whose_it_is() {
        let shown = session("canary");
        let told = text(&shown, false);
        assert_eq!(
            told,
            "session  a\\u{1b}[2J\nstored   sealed with the key 'k'\nends     2030-01-01T00:00:00Z\n"
        );
        assert!(!document(&shown, false).to_string().contains("canary"));
        assert!(text(&shown, true).contains("user     canary\n"));
        assert_eq!(document(&shown, true)["user"], "canary");
    }
}
