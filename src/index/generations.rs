//! The folder of the index. Each generation is a whole index in a folder of its own, `0001` and so on; the file `current` names the one that
//! answers. A new one is built beside it, and takes its place once it has caught up. So an index that is broken, or of another feed, costs
//! time and nothing else.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::IndexError;
use super::reader::Reader;
use super::schema::{SCHEMA, Stand, stand_in};
use crate::domain::card::Find;
use crate::recovery::check::Derived;
use crate::storage::values::FeedLog;
use crate::warc::append::sync_dir;

/// The folder of the index within the data folder.
pub const FOLDER: &str = "index";
const CURRENT: &str = "current";
const HALF: &str = "current.new";

/// What was found in the folder of a generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It does not open, or is not whole.
    Broken,
    /// It can be asked, but is of another feed, or has other words.
    Other,
    /// It can be gone on with.
    Good(Stand),
}

/// Which generation answers, which is written, and which are of no use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Number of the one that answers; it may be that which is written.
    pub answers: u32,
    /// Number of the one that is written.
    pub writes: u32,
    /// Up to where that is true.
    pub stand: Stand,
    /// Those that go.
    pub useless: Vec<u32>,
}

impl Plan {
    /// Of all generations, by ascending number, and the one that answered last. `fresh`: a new one is written, whatever there is.
    pub fn of(found: &[(u32, Found)], current: Option<u32>, fresh: bool) -> Self {
        let last = found.last().map_or(0, |(number, _)| *number);
        let goes_on = match found.last() {
            Some((number, Found::Good(stand))) if !fresh => Some((*number, stand.clone())),
            _ => None,
        };
        let (writes, stand) = goes_on.unwrap_or((last.saturating_add(1), Stand::default()));
        let asked = |number: &u32| found.iter().any(|(known, what)| known == number && *what != Found::Broken);
        let answers = current.filter(asked).unwrap_or(writes);
        let useless = found.iter().map(|(number, _)| *number).filter(|number| ![answers, writes].contains(number));
        Self { answers, writes, stand, useless: useless.collect() }
    }
}

impl Stand {
    /// Whether an index that is true up to here can be gone on with. `shown`: the last entry of this feed.
    pub fn goes_on(&self, log: &FeedLog, id: &str, shown: u64) -> bool {
        let own = self.log == id && self.seq <= shown;
        let former = || log.common_with(&self.log_id()?).map(|common| self.seq <= common);
        (own || former() == Some(true)) && self.schema == SCHEMA && self.has_same_words() && self.seq >= log.trimmed
    }

    fn log_id(&self) -> Option<[u8; 8]> {
        data_encoding::HEXLOWER.decode(self.log.as_bytes()).ok()?.try_into().ok()
    }
}

/// The folder of the index.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Of a data folder.
    pub fn of(data: &Path) -> Self {
        Self(data.join(FOLDER))
    }

    /// Where a generation is.
    pub fn generation(&self, number: u32) -> PathBuf {
        self.0.join(format!("{number:04}"))
    }

    /// The numbers of all generations, ascending.
    pub fn numbers(&self) -> Vec<u32> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut numbers: Vec<u32> = names.filter_map(|name| name.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The file that names the generation that answers.
    pub fn current_file(&self) -> PathBuf {
        self.0.join(CURRENT)
    }

    /// The one that answered last.
    pub fn current(&self) -> Option<u32> {
        fs::read_to_string(self.current_file()).ok()?.trim().parse().ok()
    }

    /// Says which one answers.
    ///
    /// # Errors
    /// The file system's own.
    pub fn set_current(&self, number: u32) -> io::Result<()> {
        fs::create_dir_all(&self.0)?;
        let half = self.0.join(HALF);
        let mut file = fs::File::create(&half)?;
        writeln!(file, "{number:04}")?;
        file.sync_all()?;
        fs::rename(half, self.current_file())?;
        sync_dir(&self.0).map_err(io::Error::other)
    }

    /// Removes a generation; one that stays for now goes the next time.
    pub fn remove(&self, number: u32) {
        let dir = self.generation(number);
        if let Err(e) = fs::remove_dir_all(&dir) {
            log::warn!("an index of no more use stays: folder={} error={e}", dir.display());
        }
    }

    /// Whether keywords of cards were found so in the index that was written last, if there is one.
    pub fn has_keywords(&self, find: Find) -> bool {
        let last = self.numbers().last().and_then(|number| stand_in(&self.generation(*number)));
        last.is_none_or(|stand| stand == Stand::default() || stand.keywords == find.as_str())
    }

    /// What there is, and what is to be done with it. Reads all of each index, so that one with bytes that were damaged is noticed.
    pub fn plan(&self, log: &FeedLog, id: &str, shown: u64, fresh: bool) -> Plan {
        let found: Vec<_> =
            self.numbers().into_iter().map(|number| (number, self.look(number, log, id, shown))).collect();
        Plan::of(&found, self.current(), fresh)
    }

    /// What each generation says of itself, for a check; one that says nothing is left out.
    pub fn derived(&self) -> Vec<Derived> {
        let folders = self.numbers().into_iter().map(|number| self.generation(number));
        let said = |folder: PathBuf| {
            let stand = stand_in(&folder)?;
            Some(Derived { log: stand.log_id()?, seq: stand.seq, folder })
        };
        folders.filter_map(said).collect()
    }

    /// Whether a generation has pages of a host, also such as were replaced since; true when one cannot be read.
    pub fn has_host(&self, host: &str) -> bool {
        self.numbers().into_iter().any(|number| {
            let dir = self.generation(number);
            // Damaged bytes make the library panic in places.
            std::panic::catch_unwind(|| Reader::open(&dir)?.has_host(host)).ok().and_then(Result::ok).unwrap_or(true)
        })
    }

    fn look(&self, number: u32, log: &FeedLog, id: &str, shown: u64) -> Found {
        let dir = self.generation(number);
        // Damaged bytes make the library panic in places.
        let looked = std::panic::catch_unwind(|| -> Result<Stand, IndexError> {
            let reader = Reader::open(&dir)?;
            reader.verify()?;
            Ok(reader.stand()?.unwrap_or_default())
        });
        match looked {
            Ok(Ok(stand)) if stand == Stand::default() || stand.goes_on(log, id, shown) => Found::Good(stand),
            Ok(Ok(stand)) => {
                log::warn!(
                    "the index is of another feed, or has other words: generation={number:04} up_to={}",
                    stand.seq
                );
                if stand.schema == SCHEMA { Found::Other } else { Found::Broken }
            }
            Ok(Err(e)) => {
                log::warn!("the index is made anew: generation={number:04} error={e}");
                Found::Broken
            }
            Err(_) => {
                log::warn!("the index is made anew: generation={number:04} error=\"its files are damaged\"");
                Found::Broken
            }
        }
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        let files = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().flatten();
        let of_each = self.numbers().into_iter().flat_map(|number| files(self.generation(number)));
        of_each.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::schema::WORDS;

    fn at(seq: u64) -> Stand {
        Stand { log: "01".repeat(8), seq, schema: SCHEMA, words: WORDS, ..Stand::default() }
    }

    #[test]
    fn a_generation_goes_on_or_another_is_built_while_the_old_one_answers() {
        use Found::{Broken, Good, Other};
        let good = |seq| Good(at(seq));
        for (found, current, fresh, answers, writes, seq, useless) in [
            (vec![], None, false, 1, 1, 0, vec![]),
            (vec![(1, good(9))], Some(1), false, 1, 1, 9, vec![]),
            (vec![(1, good(9))], None, false, 1, 1, 9, vec![]),
            (vec![(1, good(9))], Some(1), true, 1, 2, 0, vec![]),
            (vec![(1, Other)], Some(1), false, 1, 2, 0, vec![]),
            (vec![(1, Broken)], Some(1), false, 2, 2, 0, vec![1]),
            // One was being built when the process ended.
            (vec![(1, good(9)), (2, good(3))], Some(1), false, 1, 2, 3, vec![]),
            (vec![(1, Other), (2, good(3))], Some(1), false, 1, 2, 3, vec![]),
            (vec![(1, Broken), (2, good(3))], Some(1), false, 2, 2, 3, vec![1]),
            (vec![(1, good(9)), (2, Broken)], Some(1), false, 1, 3, 0, vec![2]),
            // They were swapped, and the old one was not removed yet.
            (vec![(1, good(9)), (2, good(9))], Some(2), false, 2, 2, 9, vec![1]),
            (vec![(1, good(9)), (2, good(9))], Some(7), false, 2, 2, 9, vec![1]),
        ] {
            let stand = if seq == 0 { Stand::default() } else { at(seq) };
            let plan = Plan::of(&found, current, fresh);
            assert_eq!(plan, Plan { answers, writes, stand, useless }, "{found:?} {current:?} {fresh}");
        }
    }

    #[test]
    fn an_index_goes_on_with_its_feed_and_with_one_that_continues_it_up_to_what_both_have() {
        let first = FeedLog { id: [1; 8], ..FeedLog::default() };
        let second = first.clone().continued([2; 8], 50, 70, None);
        let trimmed = FeedLog { trimmed: 40, ..first.clone() };
        let (one, two) = ("01".repeat(8), "02".repeat(8));
        for (stand, log, id, goes_on) in [
            (Stand::default(), &first, &one, false),
            (at(60), &first, &one, true),
            (at(81), &first, &one, false),
            (at(50), &second, &two, true),
            (at(51), &second, &two, false),
            (at(40), &trimmed, &one, true),
            (at(39), &trimmed, &one, false),
            (Stand { schema: SCHEMA + 1, ..at(60) }, &first, &one, false),
            (Stand { words: WORDS + 1, ..at(60) }, &first, &one, false),
            (Stand { dictionary: 1, ..at(60) }, &first, &one, false),
            (Stand { log: "x".into(), ..at(60) }, &first, &one, false),
        ] {
            assert_eq!(stand.goes_on(log, id, 80), goes_on, "{stand:?} {log:?}");
        }
    }

    #[test]
    fn the_folder_remembers_which_one_answers_and_what_is_no_generation_does_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::of(dir.path());
        assert_eq!((folder.numbers(), folder.current(), folder.bytes()), (vec![], None, 0));
        folder.set_current(12).unwrap();
        for number in [12, 3] {
            fs::create_dir_all(folder.generation(number)).unwrap();
        }
        fs::create_dir(dir.path().join("index/other")).unwrap();
        assert_eq!((folder.numbers(), folder.current()), (vec![3, 12], Some(12)));
        folder.remove(3);
        assert_eq!(folder.numbers(), [12]);
    }
}
