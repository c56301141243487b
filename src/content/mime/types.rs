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
    use crate::domain::cases::check;

    #[test]
    fn globs_are_types_or_all_of_a_kind_and_cover_those() {
        let yes = |holds| if holds { "yes" } else { "no" };
        check(include_str!("../../../tests/data/type_globs.txt"), |[globs, essence]| {
            let globs: Vec<String> = globs.split(", ").map(str::to_owned).collect();
            [yes(globs.iter().all(|glob| is_type_glob(glob))), yes(is_among(&globs, essence))]
        });
        assert!(!is_type_glob("") && !is_among(&["image/*".to_owned()], "") && !is_among(&[], "image/png"));
    }
}
