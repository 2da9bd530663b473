//! The flags of `path`. Those that describe the path are generated from the crate's own vocabulary,
//! so that flags, experiment files and presets use the same words. They are kept in the order in
//! which they were typed, which matters for a chain.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use roundtrip_model::parse_duration;
use roundtrip_path::WORDS;

#[derive(Debug, Args)]
#[command(after_help = "\
Inside, `client` is 198.18.0.1, and `server`, server.test and origin.test are 198.18.0.2.
Both commands find CLIENT_V4, CLIENT_V6, SERVER_V4 and SERVER_V6 in their environment. With
--origin COMMAND also finds ORIGIN_URL, ORIGIN_HTTP_URL, ORIGIN_ECHO and ORIGIN_CA (a file), and
SSL_CERT_FILE, CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE and NODE_EXTRA_CA_CERTS name that file too.

Exit codes: COMMAND's own; 127 it was not found, 126 it cannot be run, 1 the path failed,
2 wrong usage.

Examples:
  roundtrip path --rtt 90ms --origin -- roundtrip probe https://server/
  roundtrip path --rtt 90ms --loss 1% --serve 'python3 -m http.server 80' -- curl http://server/
  roundtrip path --preset 3g --then 'middlebox=strip-fast-open' --origin -- bash
  roundtrip path --list")]
pub(crate) struct PathArgs {
    #[command(flatten)]
    pub words: Said,

    /// Let both ends leave segmentation to the interface: fewer, larger packets than a real path
    /// would see
    #[arg(long, help_heading = "Both ends")]
    pub offload: bool,
    /// Wire both ends with TAP devices instead of veth pairs; needs /dev/net/tun, and is less exact
    #[arg(long, help_heading = "Both ends")]
    pub tun: bool,
    /// Set a net.* setting on both sides; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, help_heading = "Both ends")]
    pub sysctl: Vec<(String, String)>,
    /// Resolve names with a server at the far end, so that a lookup takes a round trip, plus TIME
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "0", value_parser = parse_duration, help_heading = "Both ends")]
    pub dns: Option<Duration>,
    /// Another name of the server; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "Both ends")]
    pub name: Vec<String>,
    /// Reach the host's network from inside, through the path (root only)
    #[arg(long, help_heading = "Both ends")]
    pub uplink: bool,

    /// Run this at the far end with sh -c, and wait until it listens
    #[arg(long, value_name = "COMMAND", help_heading = "The far end")]
    pub serve: Option<String>,
    /// Run the built-in server there on ports 80 and 443, with knobs of `roundtrip origin`:
    /// 'early-data=on think=5ms'
    #[arg(long, value_name = "KNOBS", num_args = 0..=1, default_missing_value = "", conflicts_with = "serve", help_heading = "The far end")]
    pub origin: Option<String>,
    /// Wait until something listens there on this TCP port, instead of any port; `none` does not
    /// wait
    #[arg(
        long,
        value_name = "PORT",
        requires = "serve",
        help_heading = "The far end"
    )]
    pub wait: Option<Wait>,

    /// Record both ends, with comments that say what the path did to each packet
    #[arg(long, value_name = "FILE", help_heading = "What comes out")]
    pub pcapng: Option<PathBuf>,
    /// At the end one JSON document (schema roundtrip/path/1) instead of the summary; with --list
    /// the list
    #[arg(long, help_heading = "What comes out")]
    pub json: bool,
    /// Where the document goes, instead of standard error
    #[arg(
        short,
        long,
        value_name = "FILE",
        requires = "json",
        help_heading = "What comes out"
    )]
    pub output: Option<PathBuf>,
    /// A line each second on standard error: the traffic
    #[arg(long, help_heading = "What comes out")]
    pub live: bool,
    /// No summary, unless times cannot be trusted
    #[arg(
        short,
        long,
        conflicts_with = "verbose",
        help_heading = "What comes out"
    )]
    pub quiet: bool,
    /// Also show what the far end is, and how late the relay forwarded packets
    #[arg(short, long, help_heading = "What comes out")]
    pub verbose: bool,
    /// List the networks and the boxes
    #[arg(long, help_heading = "What comes out")]
    pub list: bool,

    /// What to run at the near end
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "list")]
    pub command: Vec<OsString>,
}

/// The words that describe the path, in the order in which they were typed.
#[derive(Debug, Default)]
pub(crate) struct Said(pub Vec<(&'static str, String)>);

impl Args for Said {
    fn augment_args(command: Command) -> Command {
        let flags = WORDS.iter().map(|word| {
            Arg::new(word.name)
                .long(word.name)
                .value_name(word.value)
                .help(word.help)
                .action(ArgAction::Append)
                .help_heading(
                    "The path; TIME is 90ms or 1.5s, and up: or down: before a value means one way",
                )
        });
        command.args(flags)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Said {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut said = Vec::new();
        for word in WORDS {
            let places = matches.indices_of(word.name).into_iter().flatten();
            let values = matches.get_many::<String>(word.name).into_iter().flatten();
            said.extend(
                places
                    .zip(values)
                    .map(|(place, value)| (place, word.name, value.clone())),
            );
        }
        said.sort_unstable_by_key(|(place, ..)| *place);
        let in_order = said.into_iter().map(|(_, name, value)| (name, value));
        Ok(Self(in_order.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What must happen at the far end before the command starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Nothing,
    Port(u16),
}

impl FromStr for Wait {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "none" => Ok(Self::Nothing),
            Ok(port) if port > 0 => Ok(Self::Port(port)),
            _ => Err("a port from 1 to 65535, or none".into()),
        }
    }
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("NAME=VALUE, as in net.ipv4.tcp_fastopen=3")?;
    Ok((name.trim().into(), value.trim().into()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        path: PathArgs,
    }

    fn parse(line: &str) -> Result<PathArgs, clap::Error> {
        let words = std::iter::once("path").chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.path)
    }

    #[test]
    fn words_keep_their_order() {
        let args = parse("--loss 1% --rtt 9ms --then rate=1mbit --loss=up:2% -- true").unwrap();
        let said: Vec<&str> = args.words.0.iter().map(|(name, _)| *name).collect();
        assert_eq!(said, ["loss", "rtt", "then", "loss"]);
        assert_eq!(args.words.0[3].1, "up:2%");
    }

    #[test]
    fn arguments_after_the_dashes_belong_to_the_command() {
        let args = parse("--origin --dns -- curl --rtt 9").unwrap();
        assert_eq!(args.command, ["curl", "--rtt", "9"]);
        assert_eq!(args.origin.as_deref(), Some(""));
        assert_eq!(args.dns, Some(Duration::ZERO));
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "",
            "--rtt 1ms",
            "--",
            "true",
            "--speed 1 -- true",
            "--sysctl x -- true",
            "--wait 80 -- true",
            "--serve x --wait 0 -- true",
            "--serve x --origin -- true",
            "-o file -- true",
            "-q -v -- true",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
        assert!(parse("--list").is_ok());
    }
}
