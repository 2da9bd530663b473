//! JSONPath (RFC 9535), by which redactions refer to fields: parsed strictly, and evaluated within
//! a budget, because paths come from servers.
//!
//! Only `match` and `search` are not evaluated: they need regular expressions (RFC 9485).

mod evaluate;
mod parse;
#[cfg(test)]
mod tests;

use crate::answer::Node;

pub(super) use evaluate::{Budget, Found, Step};

/// A path that is valid.
#[derive(Debug, PartialEq)]
pub(super) struct Path {
    /// Whether the path starts from `@`, the value that a filter tests, and not from `$`.
    relative: bool,
    segments: Vec<Segment>,
}

/// The selection from each value (section 2.5).
#[derive(Debug, PartialEq)]
struct Segment {
    /// Whether the segment also selects from all descendants.
    descendant: bool,
    selectors: Vec<Selector>,
}

/// Section 2.3.
#[derive(Debug, PartialEq)]
enum Selector {
    Name(String),
    Wildcard,
    Index(i64),
    Slice {
        start: Option<i64>,
        end: Option<i64>,
        step: i64,
    },
    Filter(Test),
}

/// A test of a filter (section 2.3.5).
#[derive(Debug, PartialEq)]
enum Test {
    Any(Vec<Test>),
    All(Vec<Test>),
    Not(Box<Test>),
    Compare(Operand, Comparison, Operand),
    Exists(Path),
    /// `match` or `search`.
    Regex,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    Differ,
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
}

/// A side of a comparison, or an argument.
#[derive(Debug, PartialEq)]
enum Operand {
    Literal(Node),
    /// A path that leads to at most one value.
    One(Path),
    /// `length` (section 2.4.4).
    Length(Box<Operand>),
    /// `count` (section 2.4.5).
    Count(Path),
    /// `value` (section 2.4.8).
    Value(Path),
}

impl Path {
    /// Parses a path; the error says what is wrong with it, and at which byte.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        parse::path(text)
    }

    /// All values that the path leads to. `None` if they are unknown, because the budget is used up
    /// or the path has a regular expression.
    pub(super) fn find<'a>(&self, root: &'a Node, budget: &mut Budget) -> Option<Vec<Found<'a>>> {
        evaluate::find(self, root, budget)
    }

    /// Whether the path ends with a position below this member, after at least `more` steps.
    pub(super) fn ends_with_position_below(&self, member: &str, more: usize) -> bool {
        let named = |s: &Segment| matches!(&*s.selectors, [Selector::Name(name)] if name == member);
        let steps = self.segments.iter().rev().take_while(|s| !named(s)).count();
        let position = |s: &Selector| matches!(s, Selector::Index(_) | Selector::Slice { .. });
        let last = self.segments.last();
        (more..self.segments.len()).contains(&steps)
            && last.is_some_and(|last| last.selectors.iter().all(position))
    }

    /// Whether the path counts items that are not at fixed positions, as the list of properties,
    /// and the parts of a property, are in a jCard: without one of them, the others move up.
    pub(super) fn counts_items(&self) -> bool {
        // The steps since "vcardArray"; 1 leads to the list of properties, 2 to one of them.
        let mut below: Option<usize> = None;
        self.segments.iter().any(|segment| {
            if let [Selector::Name(name)] = &*segment.selectors {
                below = (name == "vcardArray").then_some(0);
                return false;
            }
            below = below.map(|steps| steps + 1);
            let position = |s: &Selector| matches!(s, Selector::Index(_) | Selector::Slice { .. });
            matches!(below, None | Some(2)) && segment.selectors.iter().any(position)
        })
    }

    /// Whether the last selectors are all names of members.
    pub(super) fn ends_with_name(&self) -> bool {
        self.segments.last().is_some_and(|last| {
            let name = |s: &Selector| matches!(s, Selector::Name(_));
            last.selectors.iter().all(name)
        })
    }

    fn leads_to_one(&self) -> bool {
        self.segments.iter().all(|segment| {
            let one = matches!(*segment.selectors, [Selector::Name(_) | Selector::Index(_)]);
            one && !segment.descendant
        })
    }
}
