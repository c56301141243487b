//! The file of words that are added to jieba's dictionary (`index.dictionary`).

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use super::error::ConfigError;
use super::layers::Origin;
use super::settings::Settings;
use crate::domain::card::Find;
use crate::domain::words::{Dictionary, is_taught};

/// Largest file that is read, bytes.
const MAX_DICTIONARY: u64 = 16 << 20;

const KEY: &str = "index.dictionary";

impl Settings {
    /// The text of the file, if there is one.
    ///
    /// # Errors
    /// A file that cannot be read, or is none.
    pub fn dictionary(&self) -> Result<Option<String>, ConfigError> {
        let Some(path) = &self.index.dictionary else { return Ok(None) };
        let text = read(path).map_err(|e| self.wrong(path, &e))?;
        Dictionary::read(&text).map_err(|e| self.wrong(path, &e))?;
        Ok(Some(text))
    }

    /// Has this process cut Chinese by it; the first one counts to the end of the process. To be called before a text is cut.
    ///
    /// # Errors
    /// As [`dictionary`](Self::dictionary).
    pub fn learn_words(&self) -> Result<(), ConfigError> {
        let Some(path) = self.index.dictionary.as_deref().filter(|_| !is_taught()) else { return Ok(()) };
        let text = self.dictionary()?.unwrap_or_default();
        Dictionary::read(&text).map_err(|e| self.wrong(path, &e))?.teach();
        Ok(())
    }

    /// Takes what a crawl's last run made cards and words by, where nobody has said otherwise, and learns the words. `keywords`:
    /// `index.keywords`, `dictionary`: the text of its file.
    ///
    /// # Errors
    /// As [`dictionary`](Self::dictionary), of a file that these settings name.
    pub fn make_cards_as(&mut self, keywords: &str, dictionary: &str) -> Result<(), ConfigError> {
        let source = self.source.clone();
        let is_said = |key: &str| source.origin(key) != Origin::Default;
        if let Some(find) =
            Find::ALL.iter().copied().find(|find| find.as_str() == keywords).filter(|_| !is_said("index.keywords"))
        {
            self.index.keywords = find;
        }
        match Dictionary::read(dictionary) {
            Ok(known) if !dictionary.is_empty() && !is_said(KEY) && !is_taught() => known.teach(),
            _ => {}
        }
        self.learn_words()
    }

    fn wrong(&self, path: &Path, problem: &dyn std::fmt::Display) -> ConfigError {
        ConfigError::Value {
            place: self.source.origin(KEY).to_string(),
            key: KEY.to_owned(),
            problem: format!(
                "{}: {problem}; expected a file of words in UTF-8, one a line: WORD [FREQUENCY]",
                path.display()
            ),
        }
    }
}

fn read(path: &Path) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no file")); // a pipe would be waited for
    }
    let mut bytes = Vec::new();
    if File::open(path)?.take(MAX_DICTIONARY + 1).read_to_end(&mut bytes)? as u64 > MAX_DICTIONARY {
        return Err(io::Error::other("it is larger than 16 MiB"));
    }
    String::from_utf8(bytes).map_err(|e| {
        let good = e.as_bytes().get(..e.utf8_error().valid_up_to()).unwrap_or_default();
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        io::Error::other(format!("line {line}: it is not in UTF-8"))
    })
}

#[cfg(test)]
mod tests {
    use crate::config::Layers;

    #[test]
    fn a_file_that_is_none_is_named_with_its_key_and_who_set_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "好用\n台中 x 1\n好 0").unwrap();
        let gbk = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(gbk.path(), b"good\n\xc0\xc7\xd6\xeb\n").unwrap();
        for (path, why) in [
            ("/nonexistent", "/nonexistent: No such file"),
            ("/", "/: it is no file"),
            (gbk.path().to_str().unwrap(), "line 2: it is not in UTF-8"),
            (file.path().to_str().unwrap(), "line 3: \"0\" is no frequency"),
        ] {
            let settings = Layers::new().set(&format!("index.dictionary={path}")).unwrap().load().unwrap();
            let error = settings.learn_words().unwrap_err().to_string();
            assert!(error.starts_with("--set: index.dictionary: ") && error.contains(why), "{error}");
        }
    }
}
