//! `WWW-Authenticate` and `Authentication-Info`: challenges and their parameters, RFC 9110 §11.2
//! and §11.6.

/// One scheme and its parameters; names are compared without case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Challenge {
    scheme: String,
    parameters: Vec<(String, String)>,
}

const MAX_LINE: usize = 16 * 1024;
const MAX_CHALLENGES: usize = 32;

impl Challenge {
    pub(super) fn is_scheme(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }

    /// The first parameter with that name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        find(&self.parameters, name)
    }

    pub(super) fn says_true(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }
}

fn find<'a>(parameters: &'a [(String, String)], name: &str) -> Option<&'a str> {
    parameters
        .iter()
        .find(|(candidate, _)| candidate.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}

/// Parses challenges in the server's order, which is its order of preference. An invalid line is
/// used up to its first error.
pub(super) fn read<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Vec<Challenge> {
    let mut challenges = Vec::new();
    for line in lines.into_iter().take(MAX_CHALLENGES) {
        let Ok(line) = std::str::from_utf8(line) else {
            continue;
        };
        if line.len() <= MAX_LINE {
            read_line(line, &mut challenges);
        }
    }
    challenges
}

/// The names of the schemes for messages: printable and short, for any input.
pub(super) fn schemes(challenges: &[Challenge]) -> String {
    let name = |c: &Challenge| c.scheme.chars().take(20).collect::<String>();
    let mut names: Vec<String> = challenges.iter().map(name).take(8).collect();
    names.dedup();
    if names.is_empty() {
        return "credentials without saying how".into();
    }
    names.join(", ")
}

/// The nonce that `Authentication-Info` announces. RFC 7616 §3.5.
pub(super) fn next_nonce(line: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(line).ok()?;
    let mut cursor = Cursor(line.get(..line.len().min(MAX_LINE))?);
    let mut parameters = Vec::new();
    while parameters.len() < MAX_CHALLENGES {
        cursor.skip(" \t,");
        let name = cursor.token()?;
        let parameter = (name.to_owned(), cursor.value()?);
        parameters.push(parameter);
        if cursor.skip(" \t,").is_empty() {
            break;
        }
    }
    let nonce = find(&parameters, "nextnonce")?;
    (!nonce.chars().any(char::is_control)).then(|| nonce.to_owned())
}

fn read_line(line: &str, challenges: &mut Vec<Challenge>) {
    let mut cursor = Cursor(line);
    let from = challenges.len();
    while challenges.len() < MAX_CHALLENGES && !cursor.skip(" \t,").is_empty() {
        let Some(word) = cursor.token() else {
            return;
        };
        let mut ahead = Cursor(cursor.0);
        match challenges.get_mut(from..).and_then(<[_]>::last_mut) {
            Some(last) if ahead.skip(" \t").starts_with('=') => {
                let Some(value) = cursor.value() else {
                    return;
                };
                if last.parameters.len() < MAX_CHALLENGES {
                    last.parameters.push((word.to_owned(), value));
                }
            }
            _ => {
                cursor.skip_token68();
                challenges.push(Challenge {
                    scheme: word.to_owned(),
                    parameters: Vec::new(),
                });
            }
        }
    }
}

/// The text that has not been read yet.
struct Cursor<'a>(&'a str);

impl<'a> Cursor<'a> {
    fn skip(&mut self, characters: &str) -> &'a str {
        self.0 = self.0.trim_start_matches(|c| characters.contains(c));
        self.0
    }

    fn token(&mut self) -> Option<&'a str> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        let end = self.0.find(|c| !fits(c)).unwrap_or(self.0.len());
        let (token, rest) = self.0.split_at_checked(end)?;
        self.0 = rest;
        (!token.is_empty()).then_some(token)
    }

    /// Reads `=` and a token or a quoted string.
    fn value(&mut self) -> Option<String> {
        self.0 = self.skip(" \t").strip_prefix('=')?;
        self.skip(" \t");
        let Some(quoted) = self.0.strip_prefix('"') else {
            return self.token().map(str::to_owned);
        };
        let mut value = String::new();
        let mut characters = quoted.chars();
        loop {
            match characters.next()? {
                '"' => break,
                '\\' => value.push(characters.next()?),
                character => value.push(character),
            }
        }
        self.0 = characters.as_str();
        Some(value)
    }

    /// Skips the data that schemes such as Negotiate have in place of parameters. RFC 9110 §11.2.
    fn skip_token68(&mut self) {
        let mut ahead = Cursor(self.0);
        let fits = |c: char| c.is_ascii_alphanumeric() || "-._~+/".contains(c);
        let rest = ahead.skip(" \t").trim_start_matches(fits);
        let rest = rest.trim_start_matches('=').trim_start_matches([' ', '\t']);
        if rest.is_empty() || rest.starts_with(',') {
            self.0 = rest;
        }
    }
}
