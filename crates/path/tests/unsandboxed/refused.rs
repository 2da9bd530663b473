//! A system that forbids namespaces, made from a user namespace whose limit is zero; and a root
//! without capabilities.

use std::process::Command;

use roundtrip_path::{NamespaceRefusal, Path, PathError, SetupStep};

use crate::ordinary_user::is_root;
use crate::skip;

#[test]
fn a_refusal_says_what_to_do() {
    let line = "echo 0 > /proc/sys/user/max_user_namespaces \
                && exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"";
    let only = [
        "--exact",
        "refused::inside_a_namespace_without_namespaces",
        "--ignored",
    ];
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "sh", "-c", line, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(only)
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            return skip::lacking("a_refusal_says_what_to_do", format!("unshare(1): {error}"));
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "started by a_refusal_says_what_to_do, where the limit is zero"]
fn inside_a_namespace_without_namespaces() {
    let error = Path::builder().build().unwrap_err();
    let PathError::Refused { step, refusal, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(
        (*step, *refusal),
        (SetupStep::MakeUserNamespace, NamespaceRefusal::Limit)
    );
    assert!(
        error
            .to_string()
            .contains("sudo sysctl -w user.max_user_namespaces="),
        "{error}"
    );
}

#[test]
fn root_that_cannot_be_mapped_gets_an_explanation() {
    if !is_root() {
        // No package would change that; the tests are also run as root.
        return eprintln!("SKIPPED root_that_cannot_be_mapped_gets_an_explanation: not root");
    }
    let output = Command::new("setpriv")
        .args(["--bounding-set=-all", "--inh-caps=-all"])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "refused::as_root_without_capabilities",
            "--ignored",
        ])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && told.contains("1 passed"),
        "{told}"
    );
}

#[test]
#[ignore = "started by root_that_cannot_be_mapped_gets_an_explanation, without capabilities"]
fn as_root_without_capabilities() {
    let error = Path::builder().build().unwrap_err();
    let PathError::Refused { step, refusal, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(
        (*step, *refusal),
        (SetupStep::MapUser, NamespaceRefusal::RootUnmappable)
    );
}
