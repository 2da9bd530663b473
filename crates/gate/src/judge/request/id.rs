//! The ID of a request: the client's own if it is safe to repeat, otherwise a new one.

use super::Request;
use super::identity::is_read_as;
use crate::record::RequestId;

pub(crate) const NAME: &str = "X-Request-Id";

/// The client's ID, or a new one.
pub(crate) fn request_id(request: &Request<'_>) -> RequestId {
    let mut own = request.fields.iter().filter(|field| is_id(field.name));
    match (own.next(), own.next()) {
        (Some(field), None) => RequestId::from_client(field.value).unwrap_or_else(RequestId::new),
        _ => RequestId::new(),
    }
}

/// Behind CGI or WSGI, `_` and `-` are equivalent, so another spelling would be a second ID.
pub(crate) fn is_id(name: &str) -> bool {
    is_read_as(name, NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::request::Field;

    fn of(fields: &[(&str, &str)]) -> RequestId {
        let field = |(name, value): &(&'static str, &'static str)| Field {
            name,
            value: value.as_bytes(),
        };
        let owned: Vec<(&'static str, &'static str)> = fields
            .iter()
            .map(|(n, v)| (&*n.to_string().leak(), &*v.to_string().leak()))
            .collect();
        let fields: Vec<Field<'_>> = owned.iter().map(field).collect();
        request_id(&Request::get(&fields))
    }

    #[test]
    fn a_sane_one_is_kept_and_another_is_made() {
        let uuid = "6f9619ff-8b86-d011-b42d-00cf4fc964ff";
        assert_eq!(of(&[("x-request-id", uuid)]).as_str(), uuid);
        let long = "a".repeat(64);
        assert_eq!(of(&[("X-Request-ID", &long)]).as_str(), long);
        for bad in ["", "a b", "a\"b", "<b>", "a;b", "\u{e9}", &"a".repeat(65)] {
            let made = of(&[("X-Request-Id", bad)]);
            assert_eq!(made.as_str().len(), 25, "{bad}: {made:?}");
        }
        // If there are two, it is unknown which one is meant.
        let two = of(&[("X-Request-Id", "a"), ("X_Request_Id", "b")]);
        assert_eq!(two.as_str().len(), 25);
    }
}
