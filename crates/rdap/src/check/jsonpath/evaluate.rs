//! Follows a path through an answer (RFC 9535, section 2).

use std::rc::Rc;

use super::{Comparison, Operand, Path, Segment, Selector, Test};
use crate::answer::{Node, Number};

/// The number of values that can still be visited.
pub(in crate::check) struct Budget(usize);

/// The number of names of members, or of bytes of text, that cost as much as one value.
const NAMES: usize = 8;
const BYTES: usize = 64;

impl Default for Budget {
    /// Enough for many paths through a large answer; some milliseconds.
    fn default() -> Self {
        Self(500_000)
    }
}

impl Budget {
    fn spend(&mut self, work: usize) -> Option<()> {
        self.0 = self.0.checked_sub(work)?;
        Some(())
    }
}

/// A value, and the way to it.
#[derive(Clone)]
pub(in crate::check) struct Found<'a> {
    pub(in crate::check) node: &'a Node,
    way: Option<Rc<Way<'a>>>,
}

struct Way<'a> {
    before: Option<Rc<Way<'a>>>,
    step: Step<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::check) enum Step<'a> {
    Member(&'a str),
    Item(usize),
}

impl<'a> Found<'a> {
    fn below(&self, step: Step<'a>, node: &'a Node) -> Self {
        let before = self.way.clone();
        Self {
            node,
            way: Some(Rc::new(Way { before, step })),
        }
    }

    /// The steps from the top.
    pub(in crate::check) fn steps(&self) -> Vec<Step<'a>> {
        let ways = std::iter::successors(self.way.as_deref(), |way| way.before.as_deref());
        let mut steps: Vec<Step<'a>> = ways.map(|way| way.step).collect();
        steps.reverse();
        steps
    }

    /// The JSON pointer of the value (RFC 6901).
    pub(in crate::check) fn pointer(&self) -> String {
        let steps = self.steps().into_iter().map(|step| match step {
            Step::Member(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
            Step::Item(i) => format!("/{i}"),
        });
        steps.collect()
    }
}

pub(super) fn find<'a>(path: &Path, root: &'a Node, budget: &mut Budget) -> Option<Vec<Found<'a>>> {
    Walk { root, budget }.path(path, root)
}

struct Walk<'a, 'b> {
    root: &'a Node,
    budget: &'b mut Budget,
}

impl<'a> Walk<'a, '_> {
    fn path(&mut self, path: &Path, current: &'a Node) -> Option<Vec<Found<'a>>> {
        let node = if path.relative { current } else { self.root };
        let mut found = vec![Found { node, way: None }];
        for segment in &path.segments {
            let mut next = Vec::new();
            for from in &found {
                self.segment(segment, from, &mut next)?;
            }
            found = next;
        }
        Some(found)
    }

    fn segment(
        &mut self,
        segment: &Segment,
        from: &Found<'a>,
        next: &mut Vec<Found<'a>>,
    ) -> Option<()> {
        for selector in &segment.selectors {
            self.budget.spend(1)?;
            self.select(selector, from, next)?;
        }
        if segment.descendant {
            // The depth is bounded: answers that are nested deeply are refused.
            for child in children(from) {
                self.segment(segment, &child, next)?;
            }
        }
        Some(())
    }

    fn select(
        &mut self,
        selector: &Selector,
        from: &Found<'a>,
        next: &mut Vec<Found<'a>>,
    ) -> Option<()> {
        match selector {
            Selector::Name(name) => {
                self.budget.spend(from.node.members().len() / NAMES)?;
                let members = from.node.members().iter().rev();
                let member = members.into_iter().find(|(n, _)| **n == **name);
                next.extend(member.map(|(n, node)| from.below(Step::Member(n), node)));
            }
            Selector::Index(index) => {
                let items = from.node.items();
                if let Some(i) = normal(*index, items.len()) {
                    next.extend(items.get(i).map(|n| from.below(Step::Item(i), n)));
                }
            }
            Selector::Slice { start, end, step } => {
                let items = from.node.items();
                for i in slice(*start, *end, *step, items.len()) {
                    self.budget.spend(1)?;
                    next.extend(items.get(i).map(|n| from.below(Step::Item(i), n)));
                }
            }
            Selector::Wildcard => {
                for child in children(from) {
                    self.budget.spend(1)?;
                    next.push(child);
                }
            }
            Selector::Filter(test) => {
                for child in children(from) {
                    self.budget.spend(1)?;
                    if self.holds(test, child.node)? {
                        next.push(child);
                    }
                }
            }
        }
        Some(())
    }

    fn holds(&mut self, test: &Test, current: &'a Node) -> Option<bool> {
        match test {
            Test::Any(tests) => {
                for test in tests {
                    if self.holds(test, current)? {
                        return Some(true);
                    }
                }
                Some(false)
            }
            Test::All(tests) => {
                for test in tests {
                    if !self.holds(test, current)? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            Test::Not(test) => Some(!self.holds(test, current)?),
            Test::Exists(path) => Some(!self.path(path, current)?.is_empty()),
            Test::Compare(left, comparison, right) => {
                let (left, right) = (self.value(left, current)?, self.value(right, current)?);
                self.budget.spend(1)?;
                self.compare(left.node(), *comparison, right.node())
            }
            Test::Regex => None,
        }
    }

    fn compare(
        &mut self,
        left: Option<&Node>,
        comparison: Comparison,
        right: Option<&Node>,
    ) -> Option<bool> {
        let equal = match (left, right) {
            (None, None) => true,
            (Some(left), Some(right)) => self.equal(left, right)?,
            _ => false,
        };
        let less = |one: Option<&Node>, other: Option<&Node>| match (one, other) {
            (Some(Node::Text(one)), Some(Node::Text(other))) => one < other,
            (Some(Node::Number(one)), Some(Node::Number(other))) => one.as_f64() < other.as_f64(),
            _ => false,
        };
        Some(match comparison {
            Comparison::Equal => equal,
            Comparison::Differ => !equal,
            Comparison::Less => less(left, right),
            Comparison::LessOrEqual => equal || less(left, right),
            Comparison::More => less(right, left),
            Comparison::MoreOrEqual => equal || less(right, left),
        })
    }

    /// Equality (section 2.3.5.2.2).
    fn equal(&mut self, left: &Node, right: &Node) -> Option<bool> {
        self.budget.spend(1)?;
        match (left, right) {
            (Node::Number(left), Node::Number(right)) => {
                Some(left == right || left.as_f64() == right.as_f64())
            }
            (Node::List(left), Node::List(right)) if left.len() == right.len() => {
                for (left, right) in left.iter().zip(right) {
                    if !self.equal(left, right)? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            (Node::Object(members), Node::Object(others)) if members.len() == others.len() => {
                for (name, node) in members {
                    self.budget.spend(others.len() / NAMES)?;
                    let Some(other) = right.get(name) else {
                        return Some(false);
                    };
                    if !self.equal(node, other)? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            (Node::List(_) | Node::Object(_), _) => Some(false),
            (Node::Text(left), Node::Text(right)) => {
                self.budget.spend(left.len().min(right.len()) / BYTES)?;
                Some(left == right)
            }
            _ => Some(left == right),
        }
    }

    fn value(&mut self, operand: &Operand, current: &'a Node) -> Option<Value<'a>> {
        Some(match operand {
            // Literals are short: paths are.
            Operand::Literal(node) => Value::Made(node.clone()),
            Operand::One(path) => first(&self.path(path, current)?),
            Operand::Count(path) => Value::number(self.path(path, current)?.len()),
            Operand::Value(path) => match &*self.path(path, current)? {
                [only] => Value::There(only.node),
                _ => Value::Nothing,
            },
            Operand::Length(of) => match self.value(of, current)?.node() {
                Some(Node::Text(text)) => {
                    self.budget.spend(text.len() / BYTES)?;
                    Value::number(text.chars().count())
                }
                Some(Node::List(items)) => Value::number(items.len()),
                Some(Node::Object(members)) => Value::number(members.len()),
                _ => Value::Nothing,
            },
        })
    }
}

/// A value of the answer or of the path, or none.
enum Value<'a> {
    There(&'a Node),
    Made(Node),
    Nothing,
}

impl Value<'_> {
    fn number(number: usize) -> Self {
        Self::Made(Node::Number(Number::from(number)))
    }

    fn node(&self) -> Option<&Node> {
        match self {
            Self::There(node) => Some(node),
            Self::Made(node) => Some(node),
            Self::Nothing => None,
        }
    }
}

fn first<'a>(found: &[Found<'a>]) -> Value<'a> {
    found
        .first()
        .map_or(Value::Nothing, |f| Value::There(f.node))
}

fn children<'a, 'f>(from: &'f Found<'a>) -> impl Iterator<Item = Found<'a>> + use<'a, 'f> {
    let items = from.node.items().iter().enumerate();
    let items = items.map(|(i, node)| from.below(Step::Item(i), node));
    let members = from.node.members().iter();
    let members = members.map(|(name, node)| from.below(Step::Member(name), node));
    items.chain(members)
}

/// Converts a negative index, which counts from the end.
fn normal(index: i64, length: usize) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    let index = if index < 0 { length + index } else { index };
    usize::try_from(index).ok()
}

/// The positions that a slice takes (section 2.3.4.2).
fn slice(
    start: Option<i64>,
    end: Option<i64>,
    step: i64,
    length: usize,
) -> impl Iterator<Item = usize> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let normal = |i: i64| if i < 0 { length + i } else { i };
    let (from, until) = if step >= 0 {
        (
            normal(start.unwrap_or(0)).clamp(0, length),
            normal(end.unwrap_or(length)).clamp(0, length),
        )
    } else {
        (
            start.map_or(length - 1, normal).clamp(-1, length - 1),
            end.map_or(-1, normal).clamp(-1, length - 1),
        )
    };
    let positions = std::iter::successors(Some(from), move |at| at.checked_add(step));
    let inside = move |at: &i64| {
        if step > 0 {
            *at < until
        } else {
            step < 0 && *at > until
        }
    };
    positions
        .take_while(inside)
        .filter_map(|at| usize::try_from(at).ok())
}
