//! The words that completions offer if the parser accepts more than a fixed list: presets,
//! strategies, causes, experiments, arms.

use std::fmt::Write as _;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, ValueEnum};
use roundtrip_path::{Middlebox, PRESETS};

const STRATEGIES: &[&str] = &[
    "auto",
    "h1",
    "h1+clear",
    "h1+tls1.2",
    "h1+tls1.2+resume",
    "h1+tls1.3",
    "h1+tls1.3+resume",
    "h1+tls1.3+0rtt",
    "h1+tls1.3+tfo",
    "h1+tls1.3+tfo-pq",
    "h1+tls1.3+tfo+0rtt",
    "h1+tls1.3+tfo+0rtt-pq",
    "h1+tls1.3+reuse",
    "h2",
    "h2+clear",
    "h2+tls1.2",
    "h2+tls1.3",
    "h2+tls1.3+resume",
    "h2+tls1.3+0rtt",
    "h2+tls1.3+tfo",
    "h2+tls1.3+tfo-pq",
    "h2+tls1.3+tfo+0rtt-pq",
    "h2+tls1.3+reuse",
    "h3",
    "h3+resume",
    "h3+0rtt",
    "h3+reuse",
];
const ARMS: &[&str] = &["tcp", "tls", "quic"];
const CONGESTION: &[&str] = &["cubic", "reno", "bbr"];
const CIPHERS: &[&str] = &["aes128", "aes256", "chacha"];
const ENGINES: &[&str] = &["own", "proto", "quinn", "s2n"];

/// An argument by its command and its id, and the words for it.
struct List {
    of: &'static [&'static str],
    argument: &'static str,
    words: Vec<&'static str>,
}

fn lists() -> Vec<List> {
    let list = |of, argument, words| List {
        of,
        argument,
        words,
    };
    let experiments = roundtrip_lab::names().chain(["all", "faults"]).collect();
    let causes = roundtrip_explain::all().map(|cause| cause.id).collect();
    let boxes = Middlebox::kinds().map(|(name, ..)| name).collect();
    let presets = PRESETS.iter().map(|preset| preset.name).collect();
    vec![
        list(&["probe"], "strategy", STRATEGIES.to_vec()),
        list(&["compare"], "strategies", STRATEGIES.to_vec()),
        list(&["causes"], "id", causes),
        list(&["lab", "run"], "experiments", experiments),
        list(&["path"], "preset", presets),
        list(&["path"], "middlebox", boxes),
        list(&["perf"], "arms", ARMS.to_vec()),
        list(&["perf"], "cc", CONGESTION.to_vec()),
        list(&["perf"], "cipher", CIPHERS.to_vec()),
        list(&["perf"], "engine", ENGINES.to_vec()),
    ]
}

/// The command, with a list of words for each argument that has one. It is not for parsing: the
/// parser accepts further words.
pub(super) fn with_values(command: Command) -> Command {
    lists().into_iter().fold(command, |command, list| {
        let words = list.words;
        within(command, list.of, list.argument, &|argument| {
            argument.value_parser(PossibleValuesParser::new(words.clone()))
        })
    })
}

fn within(
    command: Command,
    of: &'static [&'static str],
    argument: &'static str,
    change: &dyn Fn(Arg) -> Arg,
) -> Command {
    match of {
        [] => command.mut_arg(argument, change),
        [next, rest @ ..] => {
            command.mut_subcommand(next, |sub| within(sub, rest, argument, change))
        }
    }
}

/// The completions that the fish generator omits: those of positional arguments.
pub(super) fn for_fish() -> String {
    let shells = clap_complete::Shell::value_variants();
    let shells = shells.iter().filter_map(ValueEnum::to_possible_value);
    let shells: Vec<String> = shells.map(|shell| shell.get_name().to_owned()).collect();
    let mut script = fish(&["completions"], &shells.join(" "));
    for list in lists() {
        if ["id", "experiments", "arms"].contains(&list.argument) {
            script += &fish(list.of, &list.words.join(" "));
        }
    }
    script
}

fn fish(of: &[&str], words: &str) -> String {
    let seen: Vec<String> = of
        .iter()
        .map(|command| format!("__fish_seen_subcommand_from {command}"))
        .collect();
    let mut line = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        line,
        "complete -c roundtrip -n \"{}\" -f -a \"{words}\"",
        seen.join("; and ")
    );
    line
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_word_that_is_offered_is_taken() {
        for strategy in STRATEGIES {
            assert!(
                strategy.parse::<roundtrip_model::Strategy>().is_ok(),
                "{strategy}"
            );
        }
        for (flag, words) in [
            ("--cc", CONGESTION),
            ("--cipher", CIPHERS),
            ("--engine", ENGINES),
        ] {
            for word in words {
                let taken = Cli::try_parse_from(["roundtrip", "perf", flag, word]);
                assert!(taken.is_ok(), "{flag} {word}");
            }
        }
    }

    #[test]
    fn every_list_belongs_to_an_argument() {
        let mut command = with_values(crate::generate::whole());
        command.build();
        for list in lists() {
            assert!(!list.words.is_empty());
            let mut at = &command;
            for name in list.of {
                at = at.find_subcommand(name).unwrap();
            }
            let argument = at.get_arguments().find(|a| a.get_id() == list.argument);
            let offered = argument.unwrap().get_possible_values();
            assert_eq!(offered.len(), list.words.len(), "{}", list.argument);
        }
    }
}
