//! Whether the command lines in the guides and in help are valid: a test, and the little of the
//! shell's language that it needs.

use std::fs;
use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{CommandFactory, Parser};

use super::{Cli, defer_nothing};

const PROGRAM: &str = "roundtrip";

/// Reads commands as a shell does: quotes, comments, pipes, lists, and commands within `$(…)`.
struct Shell<'a> {
    text: Peekable<Chars<'a>>,
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    word: Option<String>,
    /// The next word is the file of a redirection.
    redirects: bool,
}

impl<'a> Shell<'a> {
    /// The commands of a text, or of its first line and the lines that continue it.
    fn read(text: &'a str, only_first: bool) -> Vec<Vec<String>> {
        let mut shell = Self {
            text: text.chars().peekable(),
            commands: Vec::new(),
            words: Vec::new(),
            word: None,
            redirects: false,
        };
        while let Some(c) = shell.text.next() {
            match c {
                '\\' => match shell.text.next() {
                    Some('\n') | None => {}
                    Some(c) => shell.push(c),
                },
                '\'' => shell.quote(),
                '"' => shell.double_quote(),
                '$' if shell.text.next_if_eq(&'(').is_some() => shell.substitute(),
                '#' if shell.word.is_none() => {
                    while shell.text.next_if(|c| *c != '\n').is_some() {}
                }
                '>' | '<' => {
                    // A number before it is a descriptor's.
                    let is_number = |word: &String| word.parse::<u8>().is_ok();
                    shell.word.take_if(|word| is_number(word));
                    shell.end_word();
                    shell.redirects = true;
                }
                '\n' | ';' | '|' | '&' | '(' | ')' => {
                    shell.end_command();
                    if c == '\n' && only_first {
                        break;
                    }
                }
                c if c.is_whitespace() => shell.end_word(),
                c => shell.push(c),
            }
        }
        shell.end_command();
        shell.commands
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    /// Appends text within quotes, which another shell may read: `sh -c '…'`.
    fn quote(&mut self) {
        let word = self.word.get_or_insert_default();
        let mut inside = String::new();
        inside.extend(std::iter::from_fn(|| self.text.next_if(|c| *c != '\'')));
        self.text.next();
        word.push_str(&inside);
        self.commands.extend(Shell::read(&inside, false));
    }

    fn double_quote(&mut self) {
        self.word.get_or_insert_default();
        while let Some(c) = self.text.next() {
            match c {
                '"' => return,
                '\\' => self.text.next().into_iter().for_each(|c| self.push(c)),
                '$' if self.text.next_if_eq(&'(').is_some() => self.substitute(),
                c => self.push(c),
            }
        }
    }

    /// A number stands for the output of the command.
    fn substitute(&mut self) {
        let mut depth = 1;
        let inside: String = std::iter::from_fn(|| {
            let c = self.text.next()?;
            depth += i32::from(c == '(') - i32::from(c == ')');
            (depth > 0).then_some(c)
        })
        .collect();
        self.commands.extend(Shell::read(&inside, false));
        self.push('1');
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take()
            && !std::mem::take(&mut self.redirects)
        {
            self.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.redirects = false;
        if !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
        }
    }
}

/// The calls of this program in a command: it stands at the beginning, or behind the `--` of
/// another call.
fn calls(command: &[String]) -> impl Iterator<Item = &[String]> {
    let is_setting = |word: &String| word.contains('=') && !word.starts_with('-');
    let first = command.iter().position(|word| !is_setting(word));
    let starts = (0..command.len()).filter(move |&at| {
        let is_called = Some(at) == first || (at > 0 && command[at - 1] == "--");
        is_called && command[at] == PROGRAM
    });
    starts.map(move |at| &command[at..])
}

/// Why a call is wrong. Words that stand for several are left out.
fn fault(call: &[String]) -> Option<Error> {
    let error = Cli::try_parse_from(call.iter().filter(|word| *word != "…")).err()?;
    let shows = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    (!shows).then_some(error)
}

/// Whether a call names a flag or a verb that does not exist. A call in a sentence may stand for
/// several, and need not be complete.
fn is_of_words(error: &Error) -> bool {
    let word = error.get(ContextKind::InvalidArg);
    let is_flag = matches!(word, Some(ContextValue::String(word)) if word.starts_with('-'));
    match error.kind() {
        ErrorKind::UnknownArgument => is_flag,
        kind => kind == ErrorKind::InvalidSubcommand,
    }
}

/// The calls in code blocks of a page, and those in its sentences.
fn of_page(page: &str) -> (Vec<Vec<String>>, Vec<Vec<String>>) {
    let (mut blocks, mut spans) = (Vec::new(), Vec::new());
    for (at, part) in page.split("```").enumerate() {
        if at % 2 == 0 {
            let inline = part.split('`').skip(1).step_by(2);
            spans.extend(inline.flat_map(|span| Shell::read(span, false)));
            continue;
        }
        let (language, text) = part.split_once('\n').unwrap_or_default();
        if matches!(language, "sh" | "bash") {
            blocks.extend(Shell::read(text, false));
        } else {
            let typed = format!("\n{text}");
            let typed = typed.split("\n$ ").skip(1);
            blocks.extend(typed.flat_map(|text| Shell::read(text, true)));
        }
    }
    (blocks, spans)
}

/// The examples in the help of a verb and its verbs. Two blanks end the command, and a remark
/// follows.
fn examples(verb: &clap::Command) -> Vec<Vec<String>> {
    let help = verb.get_after_help().map(ToString::to_string);
    let help = help.unwrap_or_default();
    let (_, listed) = help.split_once("Examples:\n").unwrap_or_default();
    let lines = listed.lines().map_while(|line| line.strip_prefix("  "));
    let typed = lines.filter_map(|line| line.split("  ").next());
    let mut commands: Vec<_> = typed.flat_map(|text| Shell::read(text, false)).collect();
    commands.extend(verb.get_subcommands().flat_map(examples));
    commands
}

#[test]
fn a_command_is_read_as_a_shell_reads_it() {
    let read = |text| -> Vec<String> {
        let commands = Shell::read(text, false);
        commands.iter().map(|words| words.join("·")).collect()
    };
    for (text, commands) in [
        (
            "a 'b c' \"d $(e f) g\" # h",
            vec!["b·c", "e·f", "a·b c·d 1 g"],
        ),
        ("a | b 2> c && d \\\n  e; f > g", vec!["a", "b", "d·e", "f"]),
        ("sh -c 'a\n  b c'", vec!["a", "b·c", "sh·-c·a\n  b c"]),
        ("a#b \\# \"\\\"\"", vec!["a#b·#·\""]),
    ] {
        assert_eq!(read(text), commands, "{text}");
    }
    let (blocks, spans) = of_page("`a b` c `d`\n```text\n$ e \\\n  f\ng\n```\nh `i`");
    assert_eq!(blocks, [["e", "f"]]);
    assert_eq!(spans, [vec!["a", "b"], vec!["d"], vec!["i"]]);
    let command = Shell::read("A=1 roundtrip path -- roundtrip probe", false).remove(0);
    let found: Vec<usize> = calls(&command).map(<[String]>::len).collect();
    assert_eq!(found, [5, 2]);
}

#[test]
fn each_command_line_in_the_guides_is_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let places = [root.join("docs"), root];
    let files = places.iter().flat_map(|place| fs::read_dir(place).unwrap());
    let files = files.map(|entry| entry.unwrap().path());
    let (mut count, mut wrong) = (0, Vec::new());
    for file in files.filter(|file| file.extension().is_some_and(|e| e == "md")) {
        let (blocks, spans) = of_page(&fs::read_to_string(&file).unwrap());
        let blocks = blocks.iter().flat_map(|command| calls(command));
        let spans = spans.iter().flat_map(|command| calls(command));
        let whole = blocks.map(|call| (call, false));
        for (call, is_part) in whole.chain(spans.map(|call| (call, true))) {
            count += 1;
            let fault = fault(call).filter(|error| !is_part || is_of_words(error));
            wrong.extend(fault.map(|error| format!("{}: {call:?}: {error}", file.display())));
        }
    }
    assert!(count > 200, "{count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_example_in_help_is_valid() {
    defer_nothing();
    let examples = examples(&Cli::command());
    let calls: Vec<_> = examples.iter().flat_map(|command| calls(command)).collect();
    assert!(calls.len() > 40, "{}", calls.len());
    for call in calls {
        if let Some(fault) = fault(call).filter(is_of_words) {
            panic!("{call:?}: {fault}");
        }
    }
}
