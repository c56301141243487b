//! Small things about text that several rooms need.

/// As much of a text from its begin as fits into `max` bytes, whole characters only.
#[must_use]
pub fn cut_at(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_is_cut() {
        for (max, wanted) in [(0, ""), (1, "a"), (2, "a"), (3, "aé"), (4, "aé"), (6, "aé中"), (99, "aé中")] {
            assert_eq!(cut_at("aé中", max), wanted, "{max}");
        }
    }
}
