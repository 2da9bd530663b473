//! Arguments of a verb that are built only if that verb is used: building the arguments of all
//! verbs takes longer than parsing a command line.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// Whether the arguments of all verbs are built at once, as generators need them.
static IS_WHOLE: AtomicBool = AtomicBool::new(false);

/// Makes commands that are built from now on contain the arguments of all verbs.
pub(crate) fn defer_nothing() {
    IS_WHOLE.store(true, Ordering::Relaxed);
}

/// The arguments `T` of a subcommand. Until clap builds the subcommand, it has only a name and a
/// description.
#[derive(Debug)]
pub(crate) struct Deferred<T>(pub Box<T>);

impl<T> Deref for Deferred<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        if IS_WHOLE.load(Ordering::Relaxed) {
            return T::augment_args(command);
        }
        command.defer(augment::<T>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

/// Adds the arguments. The subcommand keeps its description, which that of `T` would replace.
fn augment<T: Args>(command: Command) -> Command {
    let about = command.get_about().cloned();
    let long = command.get_long_about().cloned();
    T::augment_args(command)
        .about(Resettable::from(about))
        .long_about(Resettable::from(long))
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Box::from_arg_matches(matches).map(Self)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        Box::from_arg_matches_mut(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
