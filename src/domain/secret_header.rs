//! Headers whose values look like credentials by their names.

/// What stands in the names of headers whose values let somebody in, also within a longer word: `X-AuthToken`, `accesskey`.
const WITHIN: &str = "auth bearer cookie credential csrf jwt key passphrase passwd password secret session token xsrf";

/// The same as words of their own only.
const WORDS: [&str; 6] = ["otp", "pass", "pin", "pwd", "sid", "signature"];

/// Words that hold one of these and mean something else.
const HARMLESS: [&str; 5] = ["author", "keyboard", "keyword", "monkey", "turkey"];

/// Whether the value of a header of this name looks like a credential: `X-Api-Key`, `Private-Token`, `X-AuthToken`, `Cookie`. In
/// doubt it does.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = || name.split(|c: char| !c.is_ascii_alphanumeric());
    let whole: String = words().filter(|word| !HARMLESS.contains(word)).collect();
    WITHIN.split(' ').any(|known| whole.contains(known)) || words().any(|word| WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::is_secret_header;

    #[test]
    fn a_name_with_a_word_for_credentials_is_that_of_a_secret() {
        let secrets = "X-Api-Key private-token X_AUTH Cookie Proxy-Authorization X-Session-Id APIKEY X-AuthToken x-authtoken \
         X-Access-Token AccessToken X-ApiKey Ocp-Apim-Subscription-Key X-Amz-Security-Token \
         CF-Access-Client-Secret X-SessionID JSESSIONID Set-Cookie2 X-XSRF-TOKEN X-Csrftoken X-Auth-User \
         X-Pass-Word X-User-Pass X-Client-Signature x.vault.token Authentication X-Goog-IAP-JWT-Assertion";
        for secret in secrets.split(' ') {
            assert!(is_secret_header(secret), "{secret}");
        }
        let others = "X-Crawl Accept Author X-Keyword X-Monkey Host Accept-Language Referer X-Sidebar";
        for other in others.split(' ').chain([""]) {
            assert!(!is_secret_header(other), "{other}");
        }
    }
}
