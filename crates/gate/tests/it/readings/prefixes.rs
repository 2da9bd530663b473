//! A server that cuts a prefix from the path, whatever the prefix is: gunicorn reads it from a
//! field.

use std::fs;
use std::process::Command;

use crate::external_program::ExternalProgram;
use crate::readings::wire::Wire;
use crate::readings::{MARKER, OPEN, open_below};

const APPLICATION: &str = r#"
def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    guarded = environ["PATH_INFO"].startswith("/guarded")
    return [b"MARKER" if guarded else b"OPEN"]
"#;

#[test]
fn no_field_cuts_the_path_before_gunicorn() {
    let test = "no_field_cuts_the_path_before_gunicorn";
    let gunicorn = ExternalProgram::start(test, &["gunicorn"], |directory, at| {
        let application = APPLICATION.replace("MARKER", MARKER).replace("OPEN", OPEN);
        fs::write(directory.join("application.py"), application).unwrap();
        let mut command = Command::new("gunicorn");
        command.arg("--bind").arg(at.to_string());
        command.arg("--chdir").arg(directory).arg("application");
        command
    });
    let Some(gunicorn) = gunicorn else { return };
    let scene = open_below(gunicorn.address);
    let mut gate = Wire::to(scene.gate().addresses().http[0]);
    let mut plain = Wire::to(gunicorn.address);
    for name in ["SCRIPT_NAME", "Script_Name", "SCRIPT-NAME", "Script.Name"] {
        let request =
            format!("GET /public/guarded/x HTTP/1.1\r\nHost: a.example\r\n{name}: /public\r\n\r\n");
        let reply = gate.ask(request.as_bytes(), false);
        assert_eq!(reply.status, 200, "{name}");
        assert!(reply.holds(OPEN) && !reply.holds(MARKER), "{name}");
        if name == "SCRIPT_NAME" {
            assert!(plain.ask(request.as_bytes(), false).holds(MARKER), "{name}");
        }
    }
}
