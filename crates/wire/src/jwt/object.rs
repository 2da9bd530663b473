//! A JSON object with few members, each named once (RFC 7515 §4, RFC 7519 §4). Only texts, lists of
//! texts and whole numbers are kept.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::bad;
use crate::Result;

const MAX_MEMBERS: usize = 64;

pub(super) struct JsonObject<'a>(Vec<(Cow<'a, str>, JsonMember<'a>)>);

enum JsonMember<'a> {
    Text(Cow<'a, str>),
    Texts(Vec<Cow<'a, str>>),
    Whole(i64),
    Other,
}

impl<'a> JsonObject<'a> {
    pub(super) fn parse(json: &'a [u8]) -> Result<Self> {
        serde_json::from_slice(json)
            .map_err(|_| bad("a part is not a JSON object with each name once"))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.member(name).is_some()
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&str>> {
        match self.member(name) {
            None => Ok(None),
            Some(JsonMember::Text(text)) => Ok(Some(text)),
            Some(_) => Err(bad("a member that should be a string is not")),
        }
    }

    /// Reads one text, or a list of texts. RFC 7519 §4.1.3.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<&str>> {
        match self.member(name) {
            None => Ok(Vec::new()),
            Some(JsonMember::Text(text)) => Ok(vec![text]),
            Some(JsonMember::Texts(texts)) => Ok(texts.iter().map(|text| &**text).collect()),
            Some(_) => Err(bad("a member that should be strings is not")),
        }
    }

    /// `1.0` and `1e3` are not written as whole numbers and are refused.
    pub(super) fn whole(&self, name: &str) -> Result<Option<i64>> {
        match self.member(name) {
            None => Ok(None),
            Some(JsonMember::Whole(number)) => Ok(Some(*number)),
            Some(_) => Err(bad("a member that should be a whole number is not")),
        }
    }

    fn member(&self, name: &str) -> Option<&JsonMember<'a>> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, m)| m)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for JsonObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = JsonObject<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(
        self,
        mut map: A,
    ) -> std::result::Result<Self::Value, A::Error> {
        let mut members: Vec<(Cow<'de, str>, JsonMember<'de>)> = Vec::with_capacity(8);
        while let Some((name, value)) = map.next_entry::<JsonMember<'de>, JsonMember<'de>>()? {
            let JsonMember::Text(name) = name else {
                return Err(A::Error::custom("a name that is not text"));
            };
            if members.len() >= MAX_MEMBERS || members.iter().any(|(n, _)| *n == name) {
                return Err(A::Error::custom("too many members, or one twice"));
            }
            members.push((name, value));
        }
        Ok(JsonObject(members))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for JsonMember<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(Value)
    }
}

struct Value;

impl<'de> Visitor<'de> for Value {
    type Value = JsonMember<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Self::Value, E> {
        Ok(JsonMember::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<Self::Value, E> {
        Ok(JsonMember::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_i64<E>(self, number: i64) -> std::result::Result<Self::Value, E> {
        Ok(JsonMember::Whole(number))
    }

    fn visit_u64<E>(self, number: u64) -> std::result::Result<Self::Value, E> {
        Ok(i64::try_from(number).map_or(JsonMember::Other, JsonMember::Whole))
    }

    fn visit_f64<E>(self, _: f64) -> std::result::Result<Self::Value, E> {
        Ok(JsonMember::Other)
    }

    fn visit_bool<E>(self, _: bool) -> std::result::Result<Self::Value, E> {
        Ok(JsonMember::Other)
    }

    fn visit_unit<E>(self) -> std::result::Result<Self::Value, E> {
        Ok(JsonMember::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(
        self,
        mut items: A,
    ) -> std::result::Result<Self::Value, A::Error> {
        let mut texts = Vec::new();
        while let Some(item) = items.next_element::<JsonMember<'de>>()? {
            let JsonMember::Text(text) = item else {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(JsonMember::Other);
            };
            texts.push(text);
        }
        Ok(JsonMember::Texts(texts))
    }

    fn visit_map<A: MapAccess<'de>>(
        self,
        mut map: A,
    ) -> std::result::Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(JsonMember::Other)
    }
}
