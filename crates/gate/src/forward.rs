//! Carries a judged request to a backend and the answer back.

pub(crate) mod deadlines;
pub(crate) mod exchange;
pub(crate) mod h1;
pub(crate) mod halves;
mod own_answer;
pub(crate) mod site;
pub(crate) mod upstream;
