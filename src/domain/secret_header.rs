//! Headers whose values look like credentials by their names.

/// Words of names whose values let somebody in.
const WORDS: [&str; 14] = [
    "auth",
    "authorization",
    "authentication",
    "apikey",
    "cookie",
    "credential",
    "credentials",
    "jwt",
    "key",
    "passwd",
    "password",
    "secret",
    "session",
    "token",
];

/// Whether the value of a header of this name looks like a credential: `X-Api-Key`, `Private-Token`, `Cookie`.
#[must_use]
pub fn is_secret_header(name: &str) -> bool {
    name.split(['-', '_', '.']).any(|word| WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)))
}

#[cfg(test)]
mod tests {
    use super::is_secret_header;

    #[test]
    fn a_name_with_a_word_for_credentials_is_that_of_a_secret() {
        for secret in
            ["X-Api-Key", "private-token", "X_AUTH", "Cookie", "Proxy-Authorization", "X-Session-Id", "APIKEY"]
        {
            assert!(is_secret_header(secret), "{secret}");
        }
        for other in ["X-Crawl", "Accept", "Author", "X-Keyword", "X-Monkey", "", "Host"] {
            assert!(!is_secret_header(other), "{other}");
        }
    }
}
