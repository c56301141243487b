//! The fields keys are made of, each of a fixed width, most significant byte first.

use std::cmp::Reverse;

use crate::base::time::UnixMillis;
use crate::domain::cluster::map::MemberId;
use crate::domain::fingerprint::{ContentDigest, CrawlId, HostKey, UrlKey};
use crate::domain::partition::Partition;
use crate::domain::url::Scheme;

/// A field of a key.
pub(super) trait Part: Sized {
    /// Bytes on disk.
    const WIDTH: usize;

    /// Appends its bytes.
    fn put(&self, out: &mut Vec<u8>);

    /// Reads it from the front of `rest`; `None` when there is no such value.
    fn take(rest: &mut &[u8]) -> Option<Self>;
}

/// The first `N` bytes of `rest`, which moves on.
fn bytes<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

macro_rules! integer {
    ($($ty:ty),*) => {$(
        impl Part for $ty {
            const WIDTH: usize = size_of::<$ty>();
            fn put(&self, out: &mut Vec<u8>) { out.extend_from_slice(&self.to_be_bytes()); }
            fn take(rest: &mut &[u8]) -> Option<Self> { bytes(rest).map(<$ty>::from_be_bytes) }
        }
    )*};
}
integer!(u8, u16, u64);

/// Types that wrap one field.
macro_rules! wrapped {
    ($($ty:ident($inner:ty)),*) => {$(
        impl Part for $ty {
            const WIDTH: usize = <$inner as Part>::WIDTH;
            fn put(&self, out: &mut Vec<u8>) { self.0.put(out); }
            fn take(rest: &mut &[u8]) -> Option<Self> { <$inner as Part>::take(rest).map($ty) }
        }
    )*};
}
wrapped!(Partition(u16), MemberId(u16), CrawlId(u16), HostKey([u8; 8]), UrlKey([u8; 12]));
wrapped!(ContentDigest([u8; 16]), UnixMillis(u64));

impl<const N: usize> Part for [u8; N] {
    const WIDTH: usize = N;

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn take(rest: &mut &[u8]) -> Option<Self> {
        bytes(rest)
    }
}

/// Inverted, so that the latest time sorts first.
impl Part for Reverse<UnixMillis> {
    const WIDTH: usize = 8;

    fn put(&self, out: &mut Vec<u8>) {
        (!self.0.0).put(out);
    }

    fn take(rest: &mut &[u8]) -> Option<Self> {
        u64::take(rest).map(|inverted| Self(UnixMillis(!inverted)))
    }
}

impl Part for Scheme {
    const WIDTH: usize = 1;

    fn put(&self, out: &mut Vec<u8>) {
        self.code().put(out);
    }

    fn take(rest: &mut &[u8]) -> Option<Self> {
        u8::take(rest).and_then(Self::from_code)
    }
}
