//! What can be wrong with a data folder, each with its invariant and its repair (the one list that the report, the manual and the
//! tests share); and what a check found: counts, a few examples of each, what was changed.

use std::collections::BTreeMap;

use serde::Serialize;

/// Declares an enum with a row of texts for each variant.
macro_rules! rows {
    ($(#[$doc:meta])* $name:ident, $columns:literal { $($variant:ident = $($text:literal),+;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "each says what it is")]
        pub enum $name { $($variant,)* }

        impl $name {
            /// Every one, once.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            fn row(self) -> [&'static str; $columns] {
                match self { $(Self::$variant => [$($text),+],)* }
            }
        }
    };
}

rows! {
    /// One way in which records do not fit together: its name, the number of its invariant, what is wrong, its repair.
    Fault, 4 {
        Damaged = "damaged", "I2", "a record that does not decode",
            "removes it; what hangs on it is mended like the loss it is";
        QueueUnmarked = "queue_unmarked", "I2", "a queue entry whose URL has no seen mark that points to it",
            "writes the mark, or removes an entry whose URL is finished or queued elsewhere";
        DueUnmarked = "due_unmarked", "I2", "a retry whose URL has no seen mark that points to it",
            "writes the mark, or removes a retry whose URL is finished or queued elsewhere";
        WaitingUnqueued = "waiting_unqueued", "I2", "a URL marked as waiting that is in no queue",
            "queues it when its text is found in pages, rejections, crawl.jsonl or the archive's links; else drops the mark, \
             so that the next link finds it anew";
        DoneUncaptured = "done_uncaptured", "I3", "a URL marked as done, or as answered with an error, whose capture is not there",
            "points the mark to another capture, or queues the URL when its text is found; else drops the mark";
        PageUnmarked = "page_unmarked", "I2", "a capture whose URL has no seen mark", "writes the mark that the capture says";
        Misplaced = "misplaced", "I2", "a record whose URL does not belong to its key", "removes it";
        RejectedUnmarked = "rejected_unmarked", "I2", "a kept rejection that is not the state of its URL",
            "writes the mark, takes over its reason, or removes the row of a URL that is in another state";
        RejectedUnkept = "rejected_unkept", "I2", "a rejected URL that is not kept in full",
            "writes the row when the URL's text is found; else drops the mark";
        FailedUnmarked = "failed_unmarked", "I2", "a kept failure that is not the state of its URL",
            "writes the mark, takes over its reason, or removes the row of a URL that is in another state";
        ContentDangling = "content_dangling", "I3", "a content whose first capture is not there", "removes it";
        NearDangling = "near_dangling", "I3",
            "a row of near-duplicates that no newest capture calls for, or a capture said to be near to a page that nobody knows",
            "removes the row; the capture is of no group any more";
        NearMissing = "near_missing", "I3", "a page that leads a group of near-duplicates, or is of one, without its rows",
            "writes them";
        HostNameless = "host_nameless", "I2", "a host with URLs whose name is not known",
            "writes the name when a URL of the host is found; else removes its queue";
        HostMisnamed = "host_misnamed", "I2", "a host whose name does not belong to its key",
            "removes the record; the name is looked for";
        HostCounts = "host_counts", "I2", "counts of a host that a recount does not confirm", "writes the recount";
        HostHeads = "host_heads", "I2", "a host's head above its first live queue entry", "lowers the head";
        HostPlace = "host_place", "I9", "a host that is not in the one row where its queue says it belongs",
            "puts it into its row, or takes it out";
        RowStray = "row_stray", "I9", "an entry in waiting or parked that is not its host's place", "removes it";
        SitemapStray = "sitemap_stray", "I2", "an entry in sitemaps that is not the last visit of its URL", "removes it";
        VisitStray = "visit_stray", "I2", "an entry in visits at another time than its page is visited next", "removes it";
        VisitMissing = "visit_missing", "I2", "a page that is visited again and is not in the row of those", "puts it there";
        VisitHost = "visit_host", "I9", "a host that is not in visit_hosts at the time of its first visit",
            "puts it there, or takes it out";
        NearerStray = "nearer_stray", "I2", "an entry in nearer that is not the way of a page that is done",
            "writes the way into the page's mark, or removes the entry";
        FeedMissing = "feed_missing", "I10", "a finished page whose end is told by no entry of the feed", "appends one";
        FeedStray = "feed_stray", "I10", "an entry of the feed before its beginning", "removes it";
        IndexAhead = "index_ahead", "I10", "an index of pages that says it is true up to an entry that the feed does not have",
            "removes it; the next start makes it anew";
        CreditSum = "credit_sum", "I11", "credit that a recount does not confirm",
            "begins credit anew: all that was issued is with lambda";
        NoteSettled = "note_settled", "I11", "a note of credit that was settled, or that no number was given to yet",
            "begins credit anew";
        AccountStray = "account_stray", "I11", "an account of credit that is not as its URL stands", "begins credit anew";
        ForeignRow = "foreign_row", "I14", "a record of a partition that is another member's",
            "removes all that this family has of that partition";
        OutboxRow = "outbox_row", "I13", "a row of links for another member, or from one, that cannot be read", "removes it";
        OutboxCounts = "outbox_counts", "I13", "what is counted of rows of links, which a recount does not confirm",
            "writes the recount";
        SitemapMissing = "sitemap_missing", "I2", "a sitemap that is not in the row of those to be read again", "puts it there";
        Counters = "counters", "I2", "a counter that a recount does not confirm", "writes the recount";
        NextNumber = "next_number", "I2", "the next number for a queue entry, a commit or an entry of the feed was given out already",
            "raises it above all that are in use";
        UnsyncedStray = "unsynced_stray", "I8", "a page listed as not yet safe that is not there as listed",
            "takes it off the list";
        TailMissing = "tail_missing", "I3", "the archive file that the last commit names is not there",
            "forgets the name; captures in it are mended like lost ones";
        RecordMissing = "record_missing", "I3", "a capture whose archive record is not there",
            "undoes the capture and queues its URL again";
        RecordWrong = "record_wrong", "I3", "a capture whose archive record is damaged or another's",
            "undoes the capture and queues its URL again";
        IndexLine = "index_line", "I3", "an index line that does not fit its archive file",
            "writes the index anew, with a line made from the record";
        IndexMissing = "index_missing", "I3", "a capture without index line",
            "writes the index anew, with a line made from the record";
        LineDamaged = "line_damaged", "I3", "a line of crawl.jsonl that is none", "writes the file anew without it";
        LineMissing = "line_missing", "I3", "a finished URL with a capture that has no line in crawl.jsonl",
            "appends a line made from the capture, marked as restored";
    }
}

rows! {
    /// Something worth telling that is no fault: its name, what it says.
    Note, 2 {
        CutAtStart = "cut_at_start", "bytes beyond the last commit, which the next start cuts off";
        TidiedAtStart = "tidied_at_start", "a file that the next start removes, closes or makes anew";
        RequeuedAtStart = "requeued_at_start", "a capture lost in a power failure, which the next start queues again";
        UncleanEnd = "unclean_end",
            "the last run was killed, or ended (by a limit or a signal) while answers were still on their way: at the next start \
             every host first waits one gap, what was on its way is fetched again, and the ends of the files are repaired where \
             they need it";
        KeptElsewhere = "kept_elsewhere", "an archive file kept elsewhere (uploaded.jsonl); its records are not checked";
        Unreferenced = "unreferenced",
            "an archive record or index line that no capture refers to: where a robots.txt redirected to, or what a restore or a \
             lost commit has left; nothing is to be done";
        DamagedBytes = "damaged_bytes",
            "bytes of an archive file that are no whole record: other readers may stop there. No capture refers to them (any more); \
             what stands before and behind is whole. Put a good copy of the file in its place, or have readers go on at the next \
             offset that its index names";
        IndexOfBefore = "index_of_before",
            "an index of pages of before a checkpoint was put back: the next start that is to have one, or `lycosa index build`, makes it anew";
        UnderWay = "under_way",
            "a split or a merge of this folder did not come to its end: `lycosa run` names the command that goes on with it";
        Merged = "merged", "the folder was merged into that member, who has all that was in it: it can be removed";
        OldLine = "old_line",
            "an earlier line of crawl.jsonl: its URL was fetched again since, or is not finished now, as after a power failure";
        NotKept = "not_kept", "a rejected URL that is not kept in full (scope.record_rejected = false)";
        FailureNotKept = "failure_not_kept", "a URL given up that is not kept in full";
    }
}

impl Fault {
    /// Its name in reports; stable.
    pub fn name(self) -> &'static str {
        self.row()[0]
    }

    /// The number of the invariant it breaks (`docs/invariants.md`).
    pub fn invariant(self) -> &'static str {
        self.row()[1]
    }

    /// What is wrong.
    pub fn what(self) -> &'static str {
        self.row()[2]
    }

    /// What `--repair` does about it.
    pub fn repair(self) -> &'static str {
        self.row()[3]
    }
}

impl Note {
    /// Its name in reports; stable.
    pub fn name(self) -> &'static str {
        self.row()[0]
    }

    /// What it says.
    pub fn what(self) -> &'static str {
        self.row()[1]
    }
}

/// Examples kept of each kind.
pub const EXAMPLES: usize = 5;

/// Things of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Told {
    /// How many.
    pub count: u64,
    /// The first few, each with its URL in clear where it is known.
    pub examples: Vec<String>,
}

impl Told {
    /// One more, of which no example is wanted.
    pub(super) fn count(&mut self) {
        self.count = self.count.saturating_add(1);
    }

    /// One more.
    pub(super) fn add(&mut self, example: impl FnOnce() -> String) {
        self.count();
        if self.examples.len() < EXAMPLES {
            self.examples.push(example());
        }
    }
}

/// Archive files and lines looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "each name says it")]
pub struct FilesRead {
    pub warcs: u64,
    pub elsewhere: u64,
    /// Records read from them (`--full`).
    pub records: u64,
    pub index_lines: u64,
    pub lines: u64,
}

/// The outcome of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Records read, by family.
    pub records: BTreeMap<&'static str, u64>,
    /// The archive; `None` when only a database was checked.
    pub files: Option<FilesRead>,
    /// What is wrong, after a repair what is left.
    pub findings: BTreeMap<Fault, Told>,
    /// What is worth telling.
    pub notes: BTreeMap<Note, Told>,
    /// What a repair mended.
    pub repaired: BTreeMap<Fault, Told>,
    /// URLs whose mark a repair dropped, because their text was nowhere to be found.
    pub dropped: u64,
    /// Times the folder was gone through: 1 without repair.
    pub rounds: u32,
}

impl Report {
    /// True when nothing is wrong (any more).
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// How often a fault was found.
    pub fn count(&self, fault: Fault) -> u64 {
        self.findings.get(&fault).map_or(0, |t| t.count)
    }

    /// All findings together.
    pub fn total(&self) -> u64 {
        self.findings.values().map(|t| t.count).fold(0, u64::saturating_add)
    }

    /// URLs known.
    pub fn urls(&self) -> u64 {
        self.records.get("seen").copied().unwrap_or(0)
    }

    /// Begins a round anew; what was repaired is remembered.
    pub(super) fn again(&mut self) {
        let Self { repaired, dropped, rounds, files, .. } = std::mem::take(self);
        let files = files.map(|_| FilesRead::default());
        *self = Self { repaired, dropped, rounds: rounds + 1, files, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_a_name_of_its_own_and_a_number() {
        let names: std::collections::BTreeSet<_> = Fault::ALL.iter().map(|f| f.name()).collect();
        assert_eq!(names.len(), Fault::ALL.len());
        let manual = include_str!("../../../docs/operations.md");
        assert!(names.iter().all(|name| manual.contains(&format!("`{name}`"))), "docs/operations.md lists every fault");
        assert!(
            Fault::ALL.iter().all(|f| ["I2", "I3", "I8", "I9", "I10", "I11", "I13", "I14"].contains(&f.invariant()))
        );
    }
}
