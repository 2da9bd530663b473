//! Parses a path by the grammar of RFC 9535, appendix A, and refuses one that is not well typed
//! (section 2.4.3).

use super::{Comparison, Operand, Path, Segment, Selector, Test};
use crate::answer::{Node, Number};

/// The deepest nesting of filters and parentheses.
const MAX_DEPTH: usize = 24;

/// The longest path that is parsed. Real ones have less than 200 bytes.
const MAX_PATH: usize = 4_096;

/// The largest whole number of I-JSON (section 2.1).
const MAX_INTEGER: i64 = (1 << 53) - 1;

type Read<T> = Result<T, String>;

pub(super) fn path(text: &str) -> Read<Path> {
    if text.len() > MAX_PATH {
        return Err(format!("it has {} bytes", text.len()));
    }
    let mut reader = Reader {
        text,
        at: 0,
        depth: 0,
    };
    if !reader.take("$") {
        return Err("it does not begin with $".to_owned());
    }
    let segments = reader.segments()?;
    if reader.at < text.len() {
        return Err(reader.unexpected());
    }
    Ok(Path {
        relative: false,
        segments,
    })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

/// A part of a filter: a test, or an operand of a comparison.
enum Term {
    Path(Path),
    Operand(Operand),
    Test(Test),
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> String {
        let rest = self.rest();
        let end = rest.find(|c| !fits(c)).unwrap_or(rest.len());
        let taken = rest.get(..end).unwrap_or_default().to_owned();
        self.at += end;
        taken
    }

    fn blanks(&mut self) {
        self.take_while(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
    }

    /// Skips blanks, then takes the token.
    fn next_is(&mut self, token: &str) -> bool {
        let before = self.at;
        self.blanks();
        let found = self.take(token);
        if !found {
            self.at = before;
        }
        found
    }

    fn must(&mut self, token: &str) -> Read<()> {
        if self.next_is(token) {
            return Ok(());
        }
        self.blanks();
        Err(format!("no {token} at byte {}", self.at))
    }

    fn unexpected(&self) -> String {
        match self.peek() {
            Some(c) => format!("{c:?} at byte {}", self.at),
            None => "it ends early".to_owned(),
        }
    }

    fn segments(&mut self) -> Read<Vec<Segment>> {
        let mut segments = Vec::new();
        loop {
            let before = self.at;
            self.blanks();
            let segment = if self.take("..") {
                if self.take("[") {
                    (true, self.bracketed()?)
                } else {
                    (true, vec![self.short()?])
                }
            } else if self.take(".") {
                (false, vec![self.short()?])
            } else if self.take("[") {
                (false, self.bracketed()?)
            } else {
                self.at = before;
                return Ok(segments);
            };
            let (descendant, selectors) = segment;
            segments.push(Segment {
                descendant,
                selectors,
            });
        }
    }

    /// `*` or a name without quotes.
    fn short(&mut self) -> Read<Selector> {
        if self.take("*") {
            return Ok(Selector::Wildcard);
        }
        let first = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
        if !self.peek().is_some_and(first) {
            return Err(self.unexpected());
        }
        let name = self.take_while(|c| first(c) || c.is_ascii_digit());
        Ok(Selector::Name(name))
    }

    fn bracketed(&mut self) -> Read<Vec<Selector>> {
        let mut selectors = Vec::new();
        loop {
            self.blanks();
            selectors.push(self.selector()?);
            if !self.next_is(",") {
                self.must("]")?;
                return Ok(selectors);
            }
        }
    }

    fn selector(&mut self) -> Read<Selector> {
        match self.peek() {
            Some('*') => {
                self.at += 1;
                Ok(Selector::Wildcard)
            }
            Some('\'' | '"') => self.quoted().map(Selector::Name),
            Some('?') => {
                self.at += 1;
                self.blanks();
                self.any().map(Selector::Filter)
            }
            Some('-' | ':' | '0'..='9') => self.position(),
            _ => Err(self.unexpected()),
        }
    }

    /// An index or a slice.
    fn position(&mut self) -> Read<Selector> {
        let start = self.whole()?;
        if !self.next_is(":") {
            return start.map(Selector::Index).ok_or_else(|| self.unexpected());
        }
        self.blanks();
        let end = self.whole()?;
        let step = if self.next_is(":") {
            self.blanks();
            self.whole()?
        } else {
            None
        };
        Ok(Selector::Slice {
            start,
            end,
            step: step.unwrap_or(1),
        })
    }

    /// Parses a whole number without leading zeros, if there is one here.
    fn whole(&mut self) -> Read<Option<i64>> {
        let begin = self.at;
        let negative = self.take("-");
        let digits = self.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() && !negative {
            return Ok(None);
        }
        let plain = digits == "0" && !negative || !digits.starts_with('0');
        match digits.parse::<i64>() {
            Ok(number) if plain && number <= MAX_INTEGER => {
                Ok(Some(if negative { -number } else { number }))
            }
            _ => Err(format!("a bad number at byte {begin}")),
        }
    }

    fn quoted(&mut self) -> Read<String> {
        let begin = self.at;
        let bad = || format!("a bad string at byte {begin}");
        let quote = self.peek().ok_or_else(bad)?;
        // Parsed as JSON: the quotes change, and an escaped single quote loses its backslash.
        let mut json = String::from('"');
        let mut chars = self.rest().char_indices().skip(1);
        let end = loop {
            match chars.next().ok_or_else(bad)? {
                (at, c) if c == quote => break at + c.len_utf8(),
                (_, '\\') => match chars.next().ok_or_else(bad)? {
                    (_, c) if c == quote && quote == '\'' => json.push(c),
                    (_, '"') if quote == '\'' => return Err(bad()),
                    (_, c) => json.extend(['\\', c]),
                },
                (_, '"') => json.push_str("\\\""),
                (_, c) => json.push(c),
            }
        };
        json.push('"');
        self.at += end;
        serde_json::from_str(&json).map_err(|_| bad())
    }

    /// `… || …` (section 2.3.5.1).
    fn any(&mut self) -> Read<Test> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} deep"));
        }
        let mut tests = vec![self.all()?];
        while self.next_is("||") {
            self.blanks();
            tests.push(self.all()?);
        }
        self.depth -= 1;
        Ok(alone(tests, Test::Any))
    }

    fn all(&mut self) -> Read<Test> {
        let mut tests = vec![self.basic()?];
        while self.next_is("&&") {
            self.blanks();
            tests.push(self.basic()?);
        }
        Ok(alone(tests, Test::All))
    }

    fn basic(&mut self) -> Read<Test> {
        if self.take("!") {
            self.blanks();
            let test = if self.take("(") {
                self.parenthesis()?
            } else {
                test(self.term()?)?
            };
            return Ok(Test::Not(Box::new(test)));
        }
        if self.take("(") {
            return self.parenthesis();
        }
        let left = self.term()?;
        let before = self.at;
        self.blanks();
        let Some(comparison) = self.comparison() else {
            self.at = before;
            return test(left);
        };
        self.blanks();
        let right = self.term()?;
        Ok(Test::Compare(operand(left)?, comparison, operand(right)?))
    }

    fn parenthesis(&mut self) -> Read<Test> {
        self.blanks();
        let test = self.any()?;
        self.must(")")?;
        Ok(test)
    }

    fn comparison(&mut self) -> Option<Comparison> {
        // Longer ones first.
        let known = [
            ("==", Comparison::Equal),
            ("!=", Comparison::Differ),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::MoreOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::More),
        ];
        let found = known.into_iter().find(|(token, _)| self.take(token));
        found.map(|(_, comparison)| comparison)
    }

    fn term(&mut self) -> Read<Term> {
        let relative = self.peek() == Some('@');
        if relative || self.peek() == Some('$') {
            self.at += 1;
            let segments = self.segments()?;
            return Ok(Term::Path(Path { relative, segments }));
        }
        match self.peek() {
            Some('\'' | '"') => {
                let text = self.quoted()?;
                Ok(Term::Operand(Operand::Literal(Node::Text(text.into()))))
            }
            Some('-' | '0'..='9') => self.number(),
            Some('a'..='z') => self.word(),
            _ => Err(self.unexpected()),
        }
    }

    fn number(&mut self) -> Read<Term> {
        let begin = self.at;
        let text = self.take_while(|c| c.is_ascii_digit() || "+-.eE".contains(c));
        let number = Number::parse(&text);
        let number = number.ok_or_else(|| format!("a bad number at byte {begin}"))?;
        Ok(Term::Operand(Operand::Literal(Node::Number(number))))
    }

    /// A keyword or a function.
    fn word(&mut self) -> Read<Term> {
        let begin = self.at;
        let word = self.take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        let literal = |node| Ok(Term::Operand(Operand::Literal(node)));
        match word.as_str() {
            _ if self.take("(") => self.function(&word, begin),
            "true" => literal(Node::Flag(true)),
            "false" => literal(Node::Flag(false)),
            "null" => literal(Node::Null),
            _ => Err(format!("an unknown word at byte {begin}")),
        }
    }

    fn function(&mut self, name: &str, begin: usize) -> Read<Term> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} deep"));
        }
        let mut arguments = Vec::new();
        if !self.next_is(")") {
            loop {
                self.blanks();
                arguments.push(self.term()?);
                if !self.next_is(",") {
                    self.must(")")?;
                    break;
                }
            }
        }
        self.depth -= 1;
        let mut arguments = arguments.into_iter();
        let found = match (name, arguments.next(), arguments.next(), arguments.next()) {
            ("length", Some(of), None, None) => {
                Term::Operand(Operand::Length(Box::new(operand(of)?)))
            }
            ("count", Some(Term::Path(of)), None, None) => Term::Operand(Operand::Count(of)),
            ("value", Some(Term::Path(of)), None, None) => Term::Operand(Operand::Value(of)),
            ("match" | "search", Some(text), Some(pattern), None) => {
                operand(text)?;
                operand(pattern)?;
                Term::Test(Test::Regex)
            }
            _ => return Err(format!("a wrong function at byte {begin}")),
        };
        Ok(found)
    }
}

fn alone(mut tests: Vec<Test>, several: fn(Vec<Test>) -> Test) -> Test {
    match tests.pop() {
        Some(only) if tests.is_empty() => only,
        last => {
            tests.extend(last);
            several(tests)
        }
    }
}

/// A test is a boolean expression, or a path that either leads to a value or does not.
fn test(term: Term) -> Read<Test> {
    match term {
        Term::Path(path) => Ok(Test::Exists(path)),
        Term::Test(test) => Ok(test),
        Term::Operand(_) => Err("there is a value in place of a test".to_owned()),
    }
}

/// Converts a term to an operand of a comparison: it must have only one value.
fn operand(term: Term) -> Read<Operand> {
    match term {
        Term::Operand(operand) => Ok(operand),
        Term::Path(path) if path.leads_to_one() => Ok(Operand::One(path)),
        Term::Path(_) => Err("a path that may lead to several values is compared".to_owned()),
        Term::Test(_) => Err("there is a test in place of a value".to_owned()),
    }
}
