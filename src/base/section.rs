//! A section of the configuration: `net` and `telemetry` have some of their own, `config` all others.

/// Declares a section: each key with its type, by what module of `base::units` it is read and written, and its default.
macro_rules! section {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$about:meta])* $key:ident: $type:ty $(as $with:tt)? = $default:expr;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[$about])* $(#[serde(with = $with)])? pub $key: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }
    };
}

pub(crate) use section;
