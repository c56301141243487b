//! Lists of media types, as settings name them.

/// Whether a text is a media type without parameters, or all of one kind: `image/png`, `image/*`.
pub fn is_type_glob(text: &str) -> bool {
    let token =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b));
    text.len() <= 128 && text.split_once('/').is_some_and(|(kind, sub)| token(kind) && (sub == "*" || token(sub)))
}

/// Whether one of `globs` covers a media type without parameters.
pub fn is_among(globs: &[String], essence: &str) -> bool {
    let covers = |glob: &String| match glob.strip_suffix('*') {
        Some(kind) => essence.get(..kind.len()).is_some_and(|start| start.eq_ignore_ascii_case(kind)),
        None => glob.eq_ignore_ascii_case(essence),
    };
    !essence.is_empty() && globs.iter().any(covers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_types_or_all_of_a_kind() {
        for good in ["image/png", "image/*", "application/x-own+xml", "Text/HTML"] {
            assert!(is_type_glob(good), "{good}");
        }
        for bad in ["", "image", "*/*", "image/", "/png", "image/p*", "image/png; q=1", "a/b/c", "image /png"] {
            assert!(!is_type_glob(bad), "{bad}");
        }
    }

    #[test]
    fn a_type_is_covered_by_itself_and_by_its_kind() {
        let globs = ["image/*".to_owned(), "Application/PDF".to_owned()];
        for (essence, want) in [
            ("image/png", true),
            ("IMAGE/x", true),
            ("imagex/png", false),
            ("application/pdf", true),
            ("application/pdfx", false),
            ("text/html", false),
            ("", false),
        ] {
            assert_eq!(is_among(&globs, essence), want, "{essence}");
        }
        assert!(!is_among(&[], "image/png"));
    }
}
