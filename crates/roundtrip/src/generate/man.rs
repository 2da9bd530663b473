//! Man pages whose examples stay as they are: indented lines of a help text are not filled.

use std::fs;
use std::io;
use std::path::Path;

use clap::Command;
use clap_mangen::Man;

/// The generator's heading for the text after the flags.
const AFTER_HELP: &str = ".SH EXTRA\n";

/// Writes a page for each command.
pub(super) fn write(command: Command, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    each(&command, directory)
}

fn each(command: &Command, directory: &Path) -> io::Result<()> {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        each(sub, directory)?;
    }
    let page = Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    let text = String::from_utf8(text).map_err(io::Error::other)?;
    fs::write(directory.join(page.get_filename()), as_typed(&text))
}

/// Gives the text after the flags its sections, and keeps indented lines as they were typed.
fn as_typed(page: &str) -> String {
    let Some((before, after)) = page.split_once(AFTER_HELP) else {
        return page.to_owned();
    };
    let end = after.find("\n.SH ").map_or(after.len(), |at| at + 1);
    let (section, rest) = after.split_at(end);
    let mut text = before.to_owned();
    let mut is_open = false;
    let mut is_indented = false;
    for line in section.lines() {
        let indented = line.starts_with("  ");
        if indented != is_indented {
            text += if indented { ".nf\n" } else { ".fi\n" };
            is_indented = indented;
        }
        match line {
            "Examples:" => {
                text += ".SH EXAMPLES\n";
                is_open = true;
            }
            "" => text += if is_open { ".PP\n" } else { "" },
            line => {
                if !is_open {
                    text += ".SH NOTES\n";
                    is_open = true;
                }
                text += line;
                text.push('\n');
            }
        }
    }
    if is_indented {
        text += ".fi\n";
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::as_typed;

    #[test]
    fn examples_are_a_section_that_is_not_filled() {
        let page = ".SH OPTIONS\nx\n.SH EXTRA\nA note\nof two lines.\n\nExamples:\n  a b   c\n  d\n.SH VERSION\nv1\n";
        let made = ".SH OPTIONS\nx\n.SH NOTES\nA note\nof two lines.\n.PP\n.SH EXAMPLES\n.nf\n  a b   c\n  d\n.fi\n.SH VERSION\nv1\n";
        assert_eq!(as_typed(page), made);
    }

    #[test]
    fn a_page_without_such_a_text_stays() {
        assert_eq!(as_typed(".SH VERSION\nv1\n"), ".SH VERSION\nv1\n");
    }
}
