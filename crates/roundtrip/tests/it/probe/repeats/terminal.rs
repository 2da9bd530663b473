//! Text for terminals of every kind: narrow, without colour, without Unicode.

use crate::probe::peer::Site;
use crate::probe::run::{probe, said};
use crate::process::Said;

fn with(site: &Site, variables: &[(&str, &str)], arguments: &[&str]) -> Said {
    let ca = site.path("ca.pem");
    let mut command = probe(&[&["--cacert", &ca], arguments].concat());
    command.envs(variables.iter().copied());
    said(command)
}

const REPEATED: [&str; 4] = ["-c", "3", "-i", "0"];

#[test]
fn plain_ascii_in_narrow_lines() {
    let site = Site::start();
    let variables = [("NO_COLOR", "1"), ("COLUMNS", "40"), ("LC_ALL", "C")];
    for arguments in [&[][..], &["-v"], &REPEATED] {
        for url in [
            site.https("/"),
            site.http("/loop"),
            "http://127.0.0.1:1/".to_owned(),
        ] {
            let said = with(&site, &variables, &[arguments, &["-L", &url]].concat());
            let text = said.out + &said.err;
            assert!(text.is_ascii(), "{text}");
            assert!(!text.contains('\x1b'), "{text}");
            for line in text.lines() {
                // A word that cannot be broken (an address, a name) may be longer than a line.
                let breakable = line.trim().contains(' ');
                assert!(
                    line.len() <= 40 || !breakable || arguments == ["-v"],
                    "{} columns: {line}",
                    line.len()
                );
            }
        }
    }
}

#[test]
fn no_colour_where_there_is_no_terminal() {
    let site = Site::start();
    let auto = with(&site, &[("TERM", "xterm-256color")], &[&site.http("/")]);
    assert!(!auto.out.contains('\x1b'));
    let always = with(&site, &[], &["--color", "always", &site.http("/")]);
    assert!(always.out.contains("\x1b["));
    let never = with(&site, &[], &["--color", "never", &site.http("/")]);
    assert!(!never.out.contains('\x1b'));
}

#[test]
fn the_locale_decides_about_unicode() {
    let site = Site::start();
    let url = site.http("/");
    let plain = with(&site, &[("LC_ALL", "C")], &[&url]);
    assert!(plain.out.is_ascii(), "{}", plain.out);
    let modern = with(&site, &[("LC_ALL", "C.UTF-8")], &[&url]);
    assert!(!modern.out.is_ascii());
}

#[test]
fn repeats_have_a_line_each_and_a_summary() {
    let site = Site::start();
    let said = with(
        &site,
        &[("COLUMNS", "100")],
        &[&REPEATED[..], &[&site.https("/")]].concat(),
    );
    for word in ["median", "p90", "max"] {
        assert!(said.out.contains(word), "no {word} in {}", said.out);
    }
    assert!(said.out.lines().count() > 5, "{}", said.out);
}
