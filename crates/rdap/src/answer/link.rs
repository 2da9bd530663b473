//! Links (RFC 9083, section 4.2): which of them to follow, and their targets.

use url::Url;

use super::item::views;

views! {
    /// An entry of `links`.
    Link,
}

/// The media type of RDAP (RFC 7480, section 4.2).
pub const MEDIA_TYPE: &str = "application/rdap+json";

impl<'a> Link<'a> {
    pub fn href(self) -> Option<&'a str> {
        self.text("href").map(str::trim)
    }

    /// The context of the link.
    pub fn value(self) -> Option<&'a str> {
        self.text("value").map(str::trim)
    }

    pub fn rel(self) -> Option<&'a str> {
        self.text("rel").map(str::trim)
    }

    pub fn has_rel(self, rel: &str) -> bool {
        // RFC 8288, section 2.1.1: compared without case.
        self.rel().is_some_and(|r| r.eq_ignore_ascii_case(rel))
    }

    pub fn media_type(self) -> Option<&'a str> {
        self.text("type").map(str::trim)
    }

    pub fn title(self) -> Option<&'a str> {
        self.text("title")
    }

    /// Whether the link declares the RDAP media type; parameters of the type do not matter.
    pub fn is_rdap(self) -> bool {
        self.media_type().is_some_and(|t| {
            let essence = t.split(';').next().unwrap_or_default();
            essence.trim().eq_ignore_ascii_case(MEDIA_TYPE)
        })
    }

    /// The target URL: `href`, relative to `value`, which itself can be relative to the URL of the
    /// answer.
    pub fn url(self, base: Option<&Url>) -> Option<Url> {
        let href = self.href()?;
        let parsed = Url::parse(href).or_else(|_| {
            let context = self.value().and_then(|v| match base {
                Some(base) => base.join(v).ok(),
                None => Url::parse(v).ok(),
            });
            match context.as_ref().or(base) {
                Some(context) => context.join(href),
                None => Err(url::ParseError::RelativeUrlWithoutBase),
            }
        });
        parsed
            .ok()
            .filter(|u| matches!(u.scheme(), "https" | "http") && u.has_host())
    }

    /// Whether the link leads to more about the same object in RDAP, so that a client can follow it
    /// without being asked to: it declares the RDAP media type, or it declares no type and its path
    /// is that of a lookup (RFC 9082, section 3.1).
    pub(super) fn can_be_followed(self) -> bool {
        match self.media_type() {
            Some(_) => self.is_rdap(),
            None => self.href().is_some_and(is_lookup),
        }
    }
}

fn is_lookup(href: &str) -> bool {
    let path = href.split(['?', '#']).next().unwrap_or_default();
    let mut steps = path.rsplit('/').skip(1);
    // "ip/192.0.2.0/24" has two segments after its kind.
    let (last, before) = (steps.next(), steps.next());
    matches!(
        last,
        Some("domain" | "nameserver" | "entity" | "autnum" | "ip")
    ) || before == Some("ip")
}

#[cfg(test)]
mod tests {
    use crate::answer::tests::answer;

    #[test]
    fn links_resolve_against_their_context() {
        let answer = answer(
            r#"{"links": [
                {"value": "https://rdap.example/domain/a.example", "href": "../help"},
                {"href": "/x"}, {"href": "mailto:a@b.example"}, {"value": 5, "href": "HTTPS://B.example"}
            ]}"#,
        );
        let shown = |base: Option<&str>| -> Vec<String> {
            let base = base.map(|b| b.parse().unwrap());
            let urls = answer.top().links().map(|l| l.url(base.as_ref()));
            urls.map(|u| u.map_or("-".into(), |u| u.to_string()))
                .collect()
        };
        let resolved = "https://rdap.example/help";
        assert_eq!(shown(None), [resolved, "-", "-", "https://b.example/"]);
        let base = Some("https://c.example/rdap/domain/a.example");
        assert_eq!(
            shown(base),
            [resolved, "https://c.example/x", "-", "https://b.example/"]
        );
    }
}
