//! How fields of values are written: LEB128 numbers, byte strings with their length before them, tags of one byte.

use std::collections::BTreeMap;
use std::time::Duration;

use super::ValueError;
use super::{Consumer, Consumers, DoneKind, JoinedHost, OrderedHosts, Unsynced, UnsyncedPage};
use crate::base::time::{UnixMillis, millis};
use crate::domain::cluster::map::MemberId;
use crate::domain::cut::Cut;
use crate::domain::fingerprint::{ContentDigest, CrawlId, HostKey, UrlKey};
use crate::domain::found_as::FoundAs;
use crate::domain::near::Near;
use crate::domain::note::Note;
use crate::domain::partition::Partition;
use crate::domain::priority::Weight;
use crate::domain::reason::{Failure, Rejection};
use crate::domain::refresh::{Cycle, Habit, OfSeeds, Unpaid};
use crate::domain::revisit::RequeueReason;
use crate::domain::textprint::TextPrint;
use crate::domain::url::Scheme;
use crate::domain::visit::Visit;
use crate::storage::keys::{Key, PageKey, SeenKey};

/// What is left of a value while it is read.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// True when everything was read.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Bytes with their length before them.
    pub(super) fn take_bytes(&mut self) -> Result<&'a [u8], ValueError> {
        let length = self.length()?;
        let (head, tail) = self.rest.split_at_checked(length).ok_or(ValueError::Short)?;
        self.rest = tail;
        Ok(head)
    }

    /// The next `N` bytes.
    fn array<const N: usize>(&mut self) -> Result<[u8; N], ValueError> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(ValueError::Short)?;
        self.rest = tail;
        Ok(*head)
    }

    /// The next byte.
    pub(super) fn byte(&mut self) -> Result<u8, ValueError> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// A length or a number of elements, each of at least one byte: never more than what is left.
    fn length(&mut self) -> Result<usize, ValueError> {
        let length = usize::try_from(u64::read(self)?).map_err(|_| ValueError::Short)?;
        if length > self.rest.len() { Err(ValueError::Short) } else { Ok(length) }
    }
}

/// A field of a value.
pub(super) trait Wire: Sized {
    /// Appends its bytes.
    fn put(&self, out: &mut Vec<u8>);

    /// Reads it from the front.
    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError>;
}

/// LEB128, seven bits a byte, the lowest first; only the shortest spelling is read.
macro_rules! numbers {
    ($($ty:ty),*) => {$(
        impl Wire for $ty {
            fn put(&self, out: &mut Vec<u8>) {
                let mut left = *self;
                while left >= 0x80 {
                    out.push((left & 0x7f) as u8 | 0x80);
                    left >>= 7;
                }
                out.push(left as u8);
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
                let mut value: Self = 0;
                for shift in (0..Self::BITS).step_by(7) {
                    let byte = from.byte()?;
                    let bits = Self::from(byte & 0x7f);
                    if bits > Self::MAX >> shift {
                        return Err(ValueError::Number);
                    }
                    value |= bits << shift;
                    if byte & 0x80 == 0 {
                        return if byte == 0 && shift > 0 { Err(ValueError::Number) } else { Ok(value) };
                    }
                }
                Err(ValueError::Number)
            }
        }
    )*};
}
numbers!(u64, u128);

macro_rules! smaller_numbers {
    ($($ty:ty),*) => {$(
        impl Wire for $ty {
            fn put(&self, out: &mut Vec<u8>) { u64::from(*self).put(out); }
            fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
                Self::try_from(u64::read(from)?).map_err(|_| ValueError::Number)
            }
        }
    )*};
}
smaller_numbers!(u16, u32);

/// As it is written in settings.
impl Wire for Cycle {
    fn put(&self, out: &mut Vec<u8>) {
        self.to_string().put(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        String::read(from)?.parse().map_err(|_| ValueError::Tag("cycle"))
    }
}

impl Wire for Weight {
    fn put(&self, out: &mut Vec<u8>) {
        self.hundredths().put(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        Self::from_hundredths(u16::read(from)?).ok_or(ValueError::Number)
    }
}

impl Wire for u8 {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        from.byte()
    }
}

impl Wire for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        match from.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(ValueError::Tag("bool")),
        }
    }
}

impl Wire for String {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(self.as_bytes(), out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        std::str::from_utf8(from.take_bytes()?).map(Self::from).map_err(|_| ValueError::Text)
    }
}

/// Appends bytes with their length before them.
pub(super) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    (bytes.len() as u64).put(out);
    out.extend_from_slice(bytes);
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(inner) = self {
            inner.put(out);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        if bool::read(from)? { T::read(from).map(Some) } else { Ok(None) }
    }
}

/// Elements of at least one byte each.
impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        for element in self {
            element.put(out);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        // No room is made beforehand: an element in memory may be far larger than its byte on disk.
        let length = from.length()?;
        (0..length).map(|_| T::read(from)).collect()
    }
}

/// Ascending keys, each once.
impl<K: Wire + Ord, V: Wire> Wire for BTreeMap<K, V> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        for (key, value) in self {
            key.put(out);
            value.put(out);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        let length = from.length()?;
        let mut map = Self::new();
        for _ in 0..length {
            let key = K::read(from)?;
            if map.last_key_value().is_some_and(|(last, _)| *last >= key) {
                return Err(ValueError::Order);
            }
            map.insert(key, V::read(from)?);
        }
        Ok(map)
    }
}

impl<const N: usize> Wire for [u64; N] {
    fn put(&self, out: &mut Vec<u8>) {
        for number in self {
            number.put(out);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = u64::read(from)?;
        }
        Ok(numbers)
    }
}

impl<const N: usize> Wire for [u8; N] {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        from.array()
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        Ok((A::read(from)?, B::read(from)?))
    }
}

macro_rules! wrapped {
    ($($ty:ident($inner:ty)),*) => {$(
        impl Wire for $ty {
            fn put(&self, out: &mut Vec<u8>) { self.0.put(out); }
            fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> { <$inner as Wire>::read(from).map($ty) }
        }
    )*};
}
wrapped!(UnixMillis(u64), Partition(u16), CrawlId(u16), HostKey([u8; 8]), UrlKey([u8; 12]), ContentDigest([u8; 16]));
wrapped!(
    MemberId(u16),
    JoinedHost(String),
    OrderedHosts(Vec<String>),
    Unsynced(Vec<UnsyncedPage>),
    Consumers(Vec<Consumer>),
    Unpaid(i32)
);

/// In whole milliseconds.
impl Wire for Duration {
    fn put(&self, out: &mut Vec<u8>) {
        millis(*self).put(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        u64::read(from).map(Self::from_millis)
    }
}

/// Keys inside values.
macro_rules! keys {
    ($($ty:ident),*) => {$(
        impl Wire for $ty {
            fn put(&self, out: &mut Vec<u8>) { put_bytes(&self.encode(), out); }
            fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
                Self::decode(from.take_bytes()?).map_err(|_| ValueError::Tag("key"))
            }
        }
    )*};
}
keys!(PageKey, SeenKey);

macro_rules! coded {
    ($($ty:ident $name:literal),*) => {$(
        impl Wire for $ty {
            fn put(&self, out: &mut Vec<u8>) { out.push(self.code()); }
            fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
                $ty::from_code(from.byte()?).ok_or(ValueError::Tag($name))
            }
        }
    )*};
}
/// The rate in two bytes, the mean in one, the row and whether it is named in one.
impl Wire for Habit {
    fn put(&self, out: &mut Vec<u8>) {
        self.rate.put(out);
        out.extend([self.links, self.small | if self.named { NAMED } else { 0 }]);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        let (rate, links, small) = (Wire::read(from)?, from.byte()?, from.byte()?);
        Ok(Self { rate, links, small: small & !NAMED, named: small & NAMED != 0 })
    }
}

/// The bit beside the row of small changes.
const NAMED: u8 = 0x80;

macro_rules! signed_numbers {
    ($($ty:ty),*) => {$(
        impl Wire for $ty {
            fn put(&self, out: &mut Vec<u8>) { out.extend(self.to_be_bytes()); }
            fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> { from.array().map(Self::from_be_bytes) }
        }
    )*};
}
signed_numbers!(i16, i32);

/// Writes an enum as a tag of one byte and the fields of its variant.
macro_rules! variants {
    ($name:ident $what:literal { $($tag:literal => $variant:ident { $($field:ident),* },)* }) => {
        impl Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant { $($field),* } => {
                        out.push($tag);
                        $($field.put(out);)*
                    })*
                }
            }
            fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
                Ok(match from.byte()? {
                    $($tag => Self::$variant { $($field: Wire::read(from)?),* },)*
                    _ => return Err(ValueError::Tag($what)),
                })
            }
        }
    };
}

variants! {
    Near "place among near-duplicates" {
        0 => Leader {},
        1 => Like { url, distance },
    }
}

/// Three hashes of eight bytes each, two numbers, and the sketch in 32 bytes, if there is one.
impl Wire for TextPrint {
    fn put(&self, out: &mut Vec<u8>) {
        [self.whole, self.words, self.sim].iter().for_each(|hash| out.extend(hash.to_be_bytes()));
        self.features.put(out);
        self.letters.put(out);
        self.sketch.is_some().put(out);
        self.sketch.iter().flatten().for_each(|word| out.extend(word.to_be_bytes()));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        let word = |from: &mut Reader<'_>| from.array().map(u64::from_be_bytes);
        let (whole, words, sim) = (word(from)?, word(from)?, word(from)?);
        let (features, letters) = (Wire::read(from)?, Wire::read(from)?);
        let four = |from: &mut Reader<'_>| Ok([word(from)?, word(from)?, word(from)?, word(from)?]);
        let sketch = if bool::read(from)? { Some(four(from)?) } else { None };
        Ok(Self { whole, words, sim, features, letters, sketch })
    }
}

coded!(Scheme "scheme", Rejection "rejection", Failure "failure", Note "note", DoneKind "way to be done", Cut "cut");
coded!(FoundAs "way of being found", RequeueReason "reason to be queued again", Visit "kind of visit", OfSeeds "cycles of seeds");

/// Writes fields of a value.
macro_rules! put_each {
    ($value:expr, $out:expr, $($field:ident),* $(,)?) => {
        $(crate::storage::values::wire::Wire::put(&$value.$field, $out);)*
    };
}

/// Reads fields, each into a variable of its name.
macro_rules! read_each {
    ($from:expr, $($field:ident),* $(,)?) => {
        $(let $field = crate::storage::values::wire::Wire::read($from)?;)*
    };
}

/// Writes the fields of a struct in this order.
macro_rules! fields_of {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl crate::storage::values::wire::Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                crate::storage::values::wire::put_each!(self, out, $($field),*);
            }
            fn read(
                from: &mut crate::storage::values::wire::Reader<'_>,
            ) -> Result<Self, crate::storage::values::ValueError> {
                crate::storage::values::wire::read_each!(from, $($field),*);
                Ok(Self { $($field),* })
            }
        }
    };
}

/// Declares a struct and writes its fields in the order they are declared.
macro_rules! fields {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident: $ty:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name { $($(#[$fdoc])* pub $field: $ty,)* }

        crate::storage::values::wire::fields_of!($name { $($field),* });
    };
}

pub(super) use {fields, fields_of, put_each, read_each, variants};
