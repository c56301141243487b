//! Enums of one-byte codes.

/// Declares an enum with its byte on disk, which is never given another meaning, and its name for people.
macro_rules! codes {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $code:literal, $text:literal;)* }) => {
        $crate::base::kinds::names! { $(#[$meta])* $name { $($(#[$vmeta])* $variant = $text;)* } }

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::domain::cut::Cut;
    use crate::domain::note::Note;
    use crate::domain::politeness::PaceWhy;
    use crate::domain::reason::{Failure, Rejection};
    use crate::domain::revisit::RequeueReason;
    use crate::domain::url::Scheme;

    fn check<T: Copy + PartialEq>(all: &[T], code: fn(T) -> u8, of: fn(u8) -> Option<T>, name: fn(T) -> &'static str) {
        assert!(all.iter().all(|one| of(code(*one)) == Some(*one)));
        assert_eq!((0..=u8::MAX).filter_map(of).count(), all.len());
        assert_eq!(all.iter().map(|one| name(*one)).collect::<BTreeSet<_>>().len(), all.len());
    }

    #[test]
    fn each_comes_back_from_its_code_and_has_a_name_of_its_own() {
        check(Cut::ALL, Cut::code, Cut::from_code, Cut::as_str);
        check(Note::ALL, Note::code, Note::from_code, Note::as_str);
        check(PaceWhy::ALL, PaceWhy::code, PaceWhy::from_code, PaceWhy::as_str);
        check(Failure::ALL, Failure::code, Failure::from_code, Failure::as_str);
        check(Rejection::ALL, Rejection::code, Rejection::from_code, Rejection::as_str);
        check(RequeueReason::ALL, RequeueReason::code, RequeueReason::from_code, RequeueReason::as_str);
        check(Scheme::ALL, Scheme::code, Scheme::from_code, Scheme::as_str);
    }
}
