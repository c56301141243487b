//! Fixed sets of names: labels of metrics, kinds of event and of fault.

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

/// Declares an enum whose variants have names and an order, so that they can index arrays.
macro_rules! kinds {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $crate::base::kinds::names! {
            $(#[$doc])*
            #[derive(serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
            #[serde(rename_all = "snake_case")]
            $name { $($(#[$vdoc])* $variant = $text;)* }
        }

        impl $name {
            /// The one of this name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
            }
        }
    };
}

pub(crate) use kinds;
pub(crate) use names;
