//! The sections of the configuration, each with its defaults. Field names are the keys.

/// Declares a section: each key with its type, by what module of `base::units` it is read and written, and its default.
macro_rules! section {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$about:meta])* $key:ident: $type:ty $(as $with:tt)? = $default:expr;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

mod access;
mod crawl;
mod depth;
mod fetch;
mod operate;
mod pages;
mod seed;
mod store;

pub use access::*;
pub use crawl::*;
pub use depth::*;
pub use fetch::*;
pub use operate::*;
pub use pages::*;
pub use seed::*;
pub use store::*;
