//! Who may ask, and for what: tokens and their roles.
//!
//! A token stands in a file (`admin.token_file`, `admin.read_token_file`) or in the environment ([`ADMIN_TOKEN`], [`ADMIN_READ_TOKEN`]), never in
//! the configuration. Digests are compared, in constant time.

use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::config::{ADMIN_READ_TOKEN, ADMIN_TOKEN, Settings};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

/// Shortest token taken, bytes.
const SHORTEST: usize = 16;
/// Longest token file read, bytes.
const LONGEST: u64 = 4_096;

/// A token file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
#[non_exhaustive]
pub enum TokenError {
    #[error("cannot read the admin token file {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("cannot make the admin token file {}: {source}", path.display())]
    Make { path: PathBuf, source: std::io::Error },
    #[error("the variable {name} must hold a token of 16 to 4096 printable characters without spaces")]
    Variable { name: &'static str },
    #[error(
        "the admin token file {} must hold 16 to 4096 printable characters without spaces; \
         make one with: head -c 24 /dev/urandom | base64", path.display()
    )]
    Form { path: PathBuf },
}

/// Reads a token file; white space around the token is cut.
///
/// # Errors
/// The file cannot be read, or the token is shorter than 16 bytes or holds spaces or control characters.
pub fn read_token(path: &Path) -> Result<String, TokenError> {
    let unread = |source| TokenError::Read { path: path.to_owned(), source };
    let size = std::fs::metadata(path).map_err(unread)?.len();
    let text = if size > LONGEST { String::new() } else { std::fs::read_to_string(path).map_err(unread)? };
    let mode = std::fs::metadata(path).map_err(unread)?.permissions().mode();
    if mode & 0o007 != 0 {
        log::warn!("everybody on this machine can read the admin token: chmod 600 {}", path.display());
    }
    checked(&text).map(str::to_owned).ok_or_else(|| TokenError::Form { path: path.to_owned() })
}

/// The token in a text, if it is one.
fn checked(text: &str) -> Option<&str> {
    let token = text.trim();
    let long = (SHORTEST..=LONGEST as usize).contains(&token.len());
    (long && token.bytes().all(|b| b.is_ascii_graphic())).then_some(token)
}

/// What a token admits to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Looking.
    Read,
    /// Everything.
    Full,
}

/// The tokens that open the endpoint; none at all leaves it open to everybody who reaches it.
#[derive(Clone, Debug, Default)]
pub struct Keys(Vec<(Role, Token)>);

impl Keys {
    /// Reads the files that are set and the environment. A file for everything that is not there is made, with a new token
    /// that only its owner can read.
    ///
    /// # Errors
    /// A token that is too short or cannot be read.
    pub fn load(full: Option<&Path>, read: Option<&Path>) -> Result<Self, TokenError> {
        let mut keys = Self::default();
        if let Some(path) = full {
            keys.add(Role::Full, &if path.exists() { read_token(path) } else { make_token(path) }?);
        }
        if let Some(path) = read {
            keys.add(Role::Read, &read_token(path)?);
        }
        for (role, name) in [(Role::Full, ADMIN_TOKEN), (Role::Read, ADMIN_READ_TOKEN)] {
            if let Ok(token) = std::env::var(name) {
                keys.add(role, checked(&token).ok_or(TokenError::Variable { name })?);
            }
        }
        Ok(keys)
    }

    /// Finds what [`Keys::load`] would stumble over; makes nothing. A file for everything may be made later, in a folder that is
    /// there or is the data folder.
    ///
    /// # Errors
    /// As [`Keys::load`].
    pub fn check(settings: &Settings) -> Result<(), TokenError> {
        if settings.admin_listen.is_none() {
            return Ok(());
        }
        let full = settings.admin.token_file.as_deref();
        if let Some(path) = full.filter(|path| !path.exists()) {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            if folder.is_some_and(|folder| !folder.is_dir() && folder != settings.store.data_dir) {
                let source = std::io::Error::other("its folder is not there");
                return Err(TokenError::Make { path: path.to_owned(), source });
            }
        }
        let files = full.filter(|path| path.exists()).into_iter().chain(settings.admin.read_token_file.as_deref());
        files.into_iter().try_for_each(|path| read_token(path).map(drop))
    }

    /// Adds a token.
    pub fn add(&mut self, role: Role, token: &str) {
        self.0.push((role, Token::new(token)));
    }

    /// True when nobody is asked for a token.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What an `Authorization` header admits to; `None` when it must stay outside. Every token is compared.
    pub fn role(&self, authorization: Option<&str>) -> Option<Role> {
        if self.is_empty() {
            return Some(Role::Full);
        }
        let admitting = self.0.iter().filter(|(_, token)| token.admits(authorization)).map(|(role, _)| *role);
        admitting.reduce(|a, b| if a == Role::Full { a } else { b })
    }
}

/// A new token in a new file.
fn make_token(path: &Path) -> Result<String, TokenError> {
    let unmade = |source| TokenError::Make { path: path.to_owned(), source };
    let mut bytes = [0; 24];
    std::fs::File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut bytes)).map_err(unmade)?;
    let token = data_encoding::BASE64URL_NOPAD.encode(&bytes);
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(path).map_err(unmade)?;
    file.write_all(format!("{token}\n").as_bytes()).and_then(|()| file.sync_all()).map_err(unmade)?;
    log::warn!("a new token for the admin endpoint was made: file={}", path.display());
    Ok(token)
}

/// The token's digest: comparing digests takes the same time wherever they differ.
#[derive(Clone)]
pub struct Token([u8; 32]);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// Keeps the digest only.
    pub fn new(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// Whether an `Authorization` header carries the token.
    pub fn admits(&self, authorization: Option<&str>) -> bool {
        let given =
            authorization.and_then(|a| a.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let Some((_, given)) = given else { return false };
        let digest: [u8; 32] = Sha256::digest(given.trim().as_bytes()).into();
        digest.iter().zip(self.0).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_taken_from_a_bearer_header_only() {
        let token = Token::new("0123456789abcdef");
        assert!(token.admits(Some("Bearer 0123456789abcdef")));
        assert!(token.admits(Some("bearer  0123456789abcdef")));
        for header in [
            None,
            Some(""),
            Some("Bearer"),
            Some("Bearer 0123456789abcdeF"),
            Some("Basic 0123456789abcdef"),
            Some("Bearer "),
        ] {
            assert!(!token.admits(header), "{header:?}");
        }
        assert!(!format!("{token:?}").contains("0123"));
    }

    #[test]
    fn a_token_file_must_hold_a_long_printable_token() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        std::fs::write(&path, "  0123456789abcdef\n").unwrap();
        assert_eq!(read_token(&path).unwrap(), "0123456789abcdef");
        for bad in ["short", "", "0123456789 abcdef", "0123456789abcdef\u{7}", &"x".repeat(5_000)] {
            std::fs::write(&path, bad).unwrap();
            assert!(matches!(read_token(&path), Err(TokenError::Form { .. })), "{bad:?}");
        }
        let error = read_token(&dir.path().join("none")).unwrap_err().to_string();
        assert!(error.contains("none"), "{error}");
    }

    #[test]
    fn a_token_file_that_is_not_there_is_made_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let keys = Keys::load(Some(&path), None).unwrap();
        let header = format!("Bearer {}", read_token(&path).unwrap());
        assert_eq!(keys.role(Some(&header)), Some(Role::Full));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = Keys::load(Some(&path), None).unwrap();
        assert_eq!(again.role(Some(&header)), Some(Role::Full), "the file is kept");
        let nowhere = Keys::load(Some(&dir.path().join("none/token")), None).unwrap_err().to_string();
        assert!(nowhere.contains("none/token"), "{nowhere}");
        assert!(Keys::load(None, Some(&dir.path().join("other"))).is_err(), "one for looking is not made");
    }

    #[test]
    fn each_token_admits_to_its_role_and_no_token_at_all_admits_everybody() {
        let mut keys = Keys::default();
        assert_eq!(keys.role(None), Some(Role::Full));
        keys.add(Role::Read, "0123456789abcdef");
        keys.add(Role::Full, "fedcba9876543210");
        keys.add(Role::Read, "fedcba9876543210");
        assert_eq!(keys.role(Some("Bearer 0123456789abcdef")), Some(Role::Read));
        assert_eq!(keys.role(Some("Bearer fedcba9876543210")), Some(Role::Full));
        assert_eq!((keys.role(None), keys.role(Some("Bearer x"))), (None, None));
    }
}
