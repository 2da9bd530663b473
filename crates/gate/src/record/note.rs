//! What only the access log wants to know of an exchange: taken down where there is a log, and nowhere else.

use std::rc::Rc;

use crate::judge::Asked;
use crate::judge::guard::Pass;
use crate::judge::request::Request;
use crate::judge::route::Route;

/// More of a method and a target no line has.
const LONGEST: usize = 2048;

#[derive(Debug, Default)]
pub(crate) struct Note {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) pass: Option<Pass>,
    pub(crate) route: Option<Rc<Route>>,
}

impl Note {
    pub(crate) fn take(&mut self, request: &Request<'_>) {
        self.method.clear();
        self.method.push_str(cut(request.method));
        self.target.clear();
        self.target.push_str(cut(request.target));
    }

    pub(crate) fn goes_on(&mut self, asked: &Asked) {
        self.pass.clone_from(&asked.session);
        self.route = Some(asked.route.clone());
    }
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST))
        .unwrap_or_default()
}
