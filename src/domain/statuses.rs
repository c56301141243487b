//! Sets of HTTP statuses: as people write them (`404`, `2xx`), and those of what is gone.

/// Statuses of what is not there: not found, gone, taken away for a law.
const GONE: [u16; 3] = [404, 410, 451];

/// Whether an answer says that nothing is there (any more).
pub fn is_gone(status: u16) -> bool {
    GONE.contains(&status)
}

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
    use crate::domain::cases::check;

    #[test]
    fn globs_are_statuses_or_classes_of_them_and_cover_those() {
        let yes = |holds| if holds { "yes" } else { "no" };
        check(include_str!("../../tests/data/status_globs.txt"), |[globs, status]| {
            let globs: Vec<String> = globs.split(' ').map(str::to_owned).collect();
            let among = status.parse().map_or("-", |status| yes(is_among(&globs, status)));
            [yes(globs.iter().all(|glob| is_status_glob(glob))), among]
        });
        assert!(!is_status_glob("") && !is_among(&[], 200));
    }
}
