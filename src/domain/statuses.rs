//! Sets of HTTP statuses as people write them: `404`, `2xx`.

/// Whether a text is a status, 100 to 999, or a class of them such as `4xx`.
pub fn is_status_glob(text: &str) -> bool {
    matches!(text.as_bytes(), [b'1'..=b'9', rest @ ..] if is_any(rest) || (rest.len() == 2 && rest.iter().all(u8::is_ascii_digit)))
}

/// Whether one of `globs` covers a status.
pub fn is_among(globs: &[String], status: u16) -> bool {
    let covers = |glob: &String| match glob.as_bytes() {
        [class, rest @ ..] if is_any(rest) => u16::from(class.wrapping_sub(b'0')) == status / 100,
        _ => glob.parse() == Ok(status),
    };
    globs.iter().any(covers)
}

fn is_any(rest: &[u8]) -> bool {
    rest.eq_ignore_ascii_case(b"xx")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_statuses_or_classes_of_them() {
        for good in ["200", "404", "999", "2xx", "5XX"] {
            assert!(is_status_glob(good), "{good}");
        }
        for bad in ["", "2", "20", "2000", "099", "0xx", "2x", "2x0", "xx2", "+20", "2xxx", "all", "é0"] {
            assert!(!is_status_glob(bad), "{bad}");
        }
    }

    #[test]
    fn a_status_is_covered_by_itself_and_by_its_class() {
        let globs = ["2xx".to_owned(), "404".to_owned(), "9XX".to_owned()];
        for (status, want) in
            [(199, false), (200, true), (299, true), (300, false), (404, true), (403, false), (999, true)]
        {
            assert_eq!(is_among(&globs, status), want, "{status}");
        }
        assert!(!is_among(&[], 200));
    }
}
