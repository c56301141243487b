//! The file of words that are added to jieba's dictionary (`index.dictionary`).

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use super::error::ConfigError;
use super::settings::Settings;
use crate::domain::words::{Dictionary, is_taught};

/// Largest file that is read, bytes.
const MAX_DICTIONARY: u64 = 16 << 20;

impl Settings {
    /// Reads it and has this process cut Chinese by it; the first one counts to the end of the process. To be called before a text is cut.
    ///
    /// # Errors
    /// A file that cannot be read, or is none.
    pub fn learn_words(&self) -> Result<(), ConfigError> {
        let Some(path) = self.index.dictionary.as_deref().filter(|_| !is_taught()) else { return Ok(()) };
        let key = "index.dictionary";
        let wrong = |problem: String| ConfigError::Value {
            place: self.source.origin(key).to_string(),
            key: key.to_owned(),
            problem: format!("{}: {problem}; expected a file of words, one a line: WORD [FREQUENCY]", path.display()),
        };
        let text = read(path).map_err(|e| wrong(e.to_string()))?;
        Dictionary::read(&text).map_err(|e| wrong(e.to_string()))?.teach();
        Ok(())
    }
}

fn read(path: &Path) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no file")); // a pipe would be waited for
    }
    let mut text = String::new();
    let length = File::open(path)?.take(MAX_DICTIONARY + 1).read_to_string(&mut text)?;
    if length as u64 > MAX_DICTIONARY { Err(io::Error::other("it is larger than 16 MiB")) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use crate::config::Layers;

    #[test]
    fn a_file_that_is_none_is_named_with_its_key_and_who_set_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "好用\n台中 x 1\n好 0").unwrap();
        for (path, why) in [
            ("/nonexistent", "/nonexistent: No such file"),
            ("/", "/: it is no file"),
            (file.path().to_str().unwrap(), "line 3: \"0\" is no frequency"),
        ] {
            let settings = Layers::new().set(&format!("index.dictionary={path}")).unwrap().load().unwrap();
            let error = settings.learn_words().unwrap_err().to_string();
            assert!(error.starts_with("--set: index.dictionary: ") && error.contains(why), "{error}");
        }
    }
}
