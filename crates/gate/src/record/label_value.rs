//! Sets of label values: an enum each, with all its members in order. Each member that is counted
//! has its own place in every ledger.

/// A member of a closed set.
pub(crate) trait LabelValue: Copy + 'static {
    const ALL: &'static [Self];

    /// The value's index in `ALL`.
    fn index(self) -> usize;

    /// The value in labels and the log: lower case, without spaces.
    fn as_str(self) -> &'static str;
}

/// A label value that is counted; the counters of a set are adjacent.
pub(crate) trait Counted: Copy {
    /// The index of this value's counter in a ledger.
    fn slot(self) -> usize;
}

/// Declares an enum whose members are label values.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $member:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum $name { $($(#[$doc])* $member,)+ }

        impl $name {
            pub(crate) const COUNT: usize = [$(Self::$member),+].len();
        }

        impl $crate::record::label_value::LabelValue for $name {
            const ALL: &'static [Self] = &[$(Self::$member),+];

            fn index(self) -> usize {
                self as usize
            }

            fn as_str(self) -> &'static str {
                match self { $(Self::$member => $word,)+ }
            }
        }
    };
}

pub(super) use words;
