//! Compares the answers to the same request at different addresses: behind one name, servers of
//! different versions or with different data may listen.

use super::{ADDRESSES_AGREE, AGREE, ANSWERS_AGREE, Heard, Judge, RequestForm, ServerReply};
use crate::answer::{Answer, Node};

/// The event that differs between the copies of a database.
const DATABASE_EVENT: &str = "last update of RDAP database";

impl Judge<'_> {
    /// Compares each answer with the first one of the same address family, and the first answers of
    /// both families with each other. Media types and members are compared with the very first
    /// answer.
    pub(super) fn agree(&mut self, heard: &Heard, reply: &ServerReply) {
        let heard_before = self.heard.iter().take_while(|h| !std::ptr::eq(*h, heard));
        let others: Vec<(&Heard, &ServerReply)> = heard_before
            .filter(|other| {
                other.manner == RequestForm::Get
                    && !other.is_beside(heard)
                    && other.url == heard.url
            })
            .filter_map(|other| Some((other, other.reply.as_ref().ok()?)))
            .collect();
        let own_family = others.iter().find(|(h, _)| h.family == heard.family);
        if let Some((other, answer)) = own_family.or(others.first()) {
            let same = reply.status == answer.status;
            let (check, whose) = match other.address {
                Some(address) if own_family.is_some() => (&ADDRESSES_AGREE, address.to_string()),
                _ => (&AGREE, "the other".to_owned()),
            };
            let place = if own_family.is_some() { "at" } else { "over" };
            let found = format!("{}, and {} {place} {whose}", reply.status, answer.status);
            self.tell(check, Some(heard), same, found);
        }
        let of_status = |(_, other): &&(&Heard, &ServerReply)| other.status == reply.status;
        if let Some((other, answer)) = others.iter().find(of_status) {
            let differing = differences(reply, answer);
            let whose = other.address.map_or_else(String::new, |a| a.to_string());
            let found = format!("other {} than at {whose}", differing.join(", "));
            self.tell(&ANSWERS_AGREE, Some(heard), differing.is_empty(), found);
        }
    }
}

/// The header fields and topmost members that differ.
fn differences(one: &ServerReply, other: &ServerReply) -> Vec<String> {
    let fields = ["content-type", "access-control-allow-origin"].into_iter();
    let mut found: Vec<String> = fields
        .filter(|name| one.text(name) != other.text(name))
        .map(str::to_owned)
        .collect();
    // Descriptions of errors may have the number of the request in them.
    if one.status >= 400 {
        return found;
    }
    match (one.answer(), other.answer()) {
        (Some(one), Some(other)) => {
            for name in names(&one, &other) {
                let member = |answer: &Answer| answer.root().get(&name).map(order);
                if member(&one) != member(&other) {
                    found.push(name);
                }
            }
        }
        (None, None) if one.body == other.body => {}
        _ => found.push("body".to_owned()),
    }
    found
}

/// The names of the topmost members of both, each once, in order.
fn names(one: &Answer, other: &Answer) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in one.root().members().iter().chain(other.root().members()) {
        if !names.iter().any(|known| **known == **name) {
            names.push(name.to_string());
        }
    }
    names
}

/// The value with names and items in an order that does not depend on that of the server, without
/// the times of the database.
fn order(value: &Node) -> String {
    match value {
        Node::Object(_) => {
            let members = value.members().iter();
            let mut parts: Vec<String> = members
                .map(|(name, value)| format!("{name:?}:{}", order(value)))
                .collect();
            parts.sort();
            format!("{{{}}}", parts.join(","))
        }
        Node::List(items) => {
            let mut parts: Vec<String> = items.iter().filter(|i| lasts(i)).map(order).collect();
            parts.sort();
            format!("[{}]", parts.join(","))
        }
        plain => format!("{plain:?}"),
    }
}

fn lasts(item: &Node) -> bool {
    let action = item.get("eventAction").and_then(Node::text);
    !action.is_some_and(|action| action.eq_ignore_ascii_case(DATABASE_EVENT))
}
