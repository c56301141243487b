//! URLs as people type them, without a scheme.

/// The text under each scheme it may mean, https first as browsers take it. Nothing when it has a scheme, or does not begin
/// with something that can only be a host: a name with a dot, a bracketed address, `localhost`, or a name with a port.
pub fn with_schemes(text: &str) -> Option<[String; 2]> {
    let text = text.trim();
    let bare = text.strip_prefix("//").unwrap_or(text);
    let authority = bare.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    is_authority(authority).then(|| ["https", "http"].map(|scheme| format!("{scheme}://{bare}")))
}

fn is_authority(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let is_port = port.is_none_or(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
    let bracketed = host.starts_with('[') && host.ends_with(']');
    let is_name = !host.is_empty() && !host.contains([':', '@', ' ', '[', ']']) && !host.starts_with('.');
    let tells = host.contains('.') || host.eq_ignore_ascii_case("localhost") || port.is_some();
    is_port && (bracketed || (is_name && tells))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::{check, unescape};

    #[test]
    fn what_begins_with_a_host_is_taken_under_both_schemes_https_first_and_nothing_else() {
        check(include_str!("../../../tests/data/url_typed.txt"), |[text]| {
            [with_schemes(&unescape(text)).map_or("-".to_owned(), |both| both.join(" "))]
        });
        assert_eq!((with_schemes(""), with_schemes(" ")), (None, None));
    }
}
