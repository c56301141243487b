//! Enums of names, with or without one-byte codes.

/// Declares an enum with its names for people.
macro_rules! names {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vmeta])* $variant,)* }

        impl $name {
            /// Every one, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name in logs, metrics, files and the admin API.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(self.as_str()) }
        }
    };
}

/// Declares an enum with its byte on disk, which is never given another meaning, and its name for people.
macro_rules! codes {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $code:literal, $text:literal;)* }) => {
        $crate::domain::coded::names! { $(#[$meta])* $name { $($(#[$vmeta])* $variant = $text;)* } }

        impl $name {
            /// The byte it has on disk; never reused for another meaning.
            pub fn code(self) -> u8 {
                match self { $(Self::$variant => $code,)* }
            }

            /// The one with this byte, if there is one.
            pub fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

pub(crate) use codes;
pub(crate) use names;
