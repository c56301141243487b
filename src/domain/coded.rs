//! Enums of one-byte codes, which are never given another meaning.

/// Declares an enum with its byte on disk and its name for people.
macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $code:literal, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* $variant = $code,)* }

        impl $name {
            /// Every one, in the order of its code.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The byte it has on disk; never reused for another meaning.
            pub fn code(self) -> u8 { self as u8 }

            /// The one with this byte, if there is one.
            pub fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)* _ => None }
            }

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

pub(crate) use codes;
