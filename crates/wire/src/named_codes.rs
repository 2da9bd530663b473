//! Error codes that RFCs name.

/// Defines the type `Code` around an integer, with a constant for each name, the name of each
/// value, and conversions.
macro_rules! named_codes {
    ($integer:ty: $($name:ident = $value:literal,)*) => {
        impl Code {
            $(pub const $name: Self = Self($value);)*

            /// The name of a code that the RFCs define.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some(stringify!($name)),)*
                    _ => None,
                }
            }

            pub fn from_value(value: $integer) -> Self {
                Self(value)
            }

            pub fn value(self) -> $integer {
                self.0
            }
        }
    };
}

pub(crate) use named_codes;
