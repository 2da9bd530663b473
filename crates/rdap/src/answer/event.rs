//! Events with their dates (RFC 9083, section 4.5), and remarks of the server (section 4.3).

use super::date::Date;
use super::item::views;

views! {
    /// An entry of `events`.
    Event,
    /// An entry of `notices` or `remarks`.
    Notice,
}

impl<'a> Event<'a> {
    pub fn action(self) -> Option<&'a str> {
        self.text("eventAction")
    }

    /// Whether the event has this action. Registered words are compared without case, because
    /// servers differ.
    pub fn is(self, action: &str) -> bool {
        self.action()
            .is_some_and(|a| a.trim().eq_ignore_ascii_case(action))
    }

    pub fn actor(self) -> Option<&'a str> {
        self.text("eventActor")
    }

    pub fn date_text(self) -> Option<&'a str> {
        self.text("eventDate").map(str::trim)
    }

    pub fn date(self) -> Option<Date> {
        Date::parse(self.date_text()?)
    }
}

impl<'a> Notice<'a> {
    pub fn title(self) -> Option<&'a str> {
        self.text("title")
    }

    pub fn kind(self) -> Option<&'a str> {
        self.text("type")
    }

    pub fn description(self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.texts("description")
    }
}
