//! Every fault point, in the order of a page's way.

use super::Fault;

/// A fault point. Each can panic, kill and delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its name; the part before the first dot is the actor, or what else passes it.
    pub name: &'static str,
    /// The step it stands before or after.
    pub stands: &'static str,
    /// The step can report an error.
    pub fails: bool,
    /// The actor can stop itself.
    pub stops: bool,
    /// It is in an async place, which can hang.
    pub hangs: bool,
    /// It can be bound to one URL.
    pub by_url: bool,
}

impl Point {
    /// The room it is in.
    pub fn room(&self) -> &'static str {
        self.name.split('.').next().unwrap_or_default()
    }

    /// True when it can do that.
    pub fn offers(&self, fault: Fault) -> bool {
        match fault {
            Fault::Panic | Fault::Kill | Fault::Delay(_) => true,
            Fault::Error => self.fails,
            Fault::Stop => self.stops,
            Fault::Hang => self.hangs,
        }
    }

    const fn fails(self) -> Self {
        Self { fails: true, ..self }
    }

    const fn stops(self) -> Self {
        Self { stops: true, ..self }
    }

    const fn hangs(self) -> Self {
        Self { hangs: true, ..self }
    }

    const fn by_url(self) -> Self {
        Self { by_url: true, ..self }
    }
}

const fn at(name: &'static str, stands: &'static str) -> Point {
    Point { name, stands, fails: false, stops: false, hangs: false, by_url: false }
}

/// All of them.
pub const POINTS: &[Point] = &[
    at("supervisor.new", "a Supervisor is made"),
    at("supervisor.started", "before its first message"),
    at("supervisor.died", "before a death is noted").stops(),
    at("frontier.new", "a Frontier is made"),
    at("frontier.started", "before the Hosts of a former life are retired"),
    at("frontier.loaded", "after the heads of the queues are read"),
    at("frontier.tick", "in its timer"),
    at("frontier.look", "before a look for hosts and times"),
    at("frontier.want", "before a Host that asks is looked at").stops(),
    at("frontier.leased", "after URLs are leased, before they are handed over"),
    at("frontier.returned", "after a dropped lease is taken back"),
    at("frontier.committed", "before the news of a commit are heard"),
    at("frontier.committed.after", "after leases ended, before hosts are activated"),
    at("frontier.gave_up", "after a Host is retired, before its yield is told to the Store"),
    at("frontier.reload", "before everything is read again"),
    at("host.new", "a Host is made"),
    at("host.started", "before its lanes are spawned"),
    at("host.leases", "before leases are taken in").stops(),
    at("host.visit", "a lane takes a URL in hands").by_url(),
    at("host.resolve", "before the name is resolved").hangs(),
    at("host.resolved", "after, before the address is judged").hangs(),
    at("host.robots", "before robots.txt is requested").hangs(),
    at("host.robots.learned", "after its answer, before it is kept and told to the Store"),
    at("host.slot", "the slot is taken, permits are not"),
    at("host.permit", "permits are taken, before the last look at the earliest time"),
    at("host.send", "the slot is marked as used, before the request is handed over"),
    at("host.report", "the request is handed over, before its report").hangs(),
    at("host.reported", "after the report of a request"),
    at("host.retire", "before it ends"),
    at("fetcher.new", "a Fetcher is made"),
    at("fetcher.started", "before its first message"),
    at("fetcher.fetch", "before a request's task is spawned").stops(),
    at("fetcher.task", "the task begins").hangs().by_url(),
    at("net.connect", "before the connection").fails().hangs(),
    at("net.connected", "after it, before the request").fails().hangs(),
    at("net.sent", "the request is under way, before the head of the answer").fails().hangs(),
    at("net.head", "after the head").fails().hangs(),
    at("net.body", "before the body").fails().hangs(),
    at("net.received", "after the body").fails().hangs(),
    at("fetcher.fetched", "after the exchange, before the slot comes back").by_url(),
    at("fetcher.reported", "after the report to the Host"),
    at("fetcher.hand_over", "before the document is handed over").by_url(),
    at("parser.new", "a Parser is made"),
    at("parser.started", "before its first message"),
    at("parser.parse", "before a document goes to the threads").stops(),
    at("parser.page", "a thread takes a page in hands").by_url(),
    at("parser.looked", "after decoding, links not yet judged"),
    at("parser.links", "after links are judged"),
    at("parser.archive", "before the records are built").fails(),
    at("parser.archived", "after they are built"),
    at("parser.done", "before the page is handed over"),
    at("deduper.new", "a Deduper is made"),
    at("filter.load", "before the saved filter is read").fails(),
    at("deduper.started", "before its first message"),
    at("deduper.tick", "in its timer"),
    at("deduper.inject", "before seeds are judged"),
    at("deduper.parsed", "before a page is looked at").stops(),
    at("deduper.chunk", "before a chunk of a page's links is looked at, those before it are handed over"),
    at("deduper.content", "before the content of a page is tested").by_url(),
    at("deduper.revisit", "before a record becomes a revisit").fails(),
    at("deduper.commit", "links are marked as pending, before the commit is handed over"),
    at("deduper.settled", "before marks are cleared"),
    at("store.new", "a Store is made"),
    at("store.started", "before its files are opened"),
    at("store.opened", "after files were cut back and counts read").fails(),
    at("store.commit", "before a change joins the group").stops(),
    at("store.group", "before the records of a group are appended").fails(),
    at("archive.append", "before records are appended to the WARC").fails(),
    at("archive.appended", "after them, before their index lines").fails(),
    at("archive.log", "before lines are appended to crawl.jsonl").fails(),
    at("archive.logged", "after them").fails(),
    at("store.archived", "after the files, before the batch is made").fails(),
    at("store.capture", "before a page with a capture is applied to the batch").by_url(),
    at("store.applied", "after a change is applied to the batch").fails(),
    at("store.write", "before the batch is written").fails(),
    at("storage.write", "before RocksDB writes a batch").fails(),
    at("storage.written", "after it, before anybody knows").fails(),
    at("store.written", "after the batch, before leases end"),
    at("store.told", "after leases ended, before the others hear of it"),
    at("archive.rotate", "before a full WARC is closed").fails(),
    at("archive.sorted", "its index is sorted, before it gets its name").fails(),
    at("archive.renamed", "after that, before the unsorted index is removed"),
    at("store.barrier", "in the timer, before everything is synced"),
    at("archive.sync", "before WARC, index and lines are synced").fails(),
    at("archive.synced", "after them, before the database's log").fails(),
    at("storage.sync", "before RocksDB syncs its log").fails(),
    at("storage.synced", "after it").fails(),
    at("store.synced", "after the barrier"),
    at("storage.open", "before RocksDB is opened").fails(),
    at("storage.opened", "after it, before its format is looked at").fails(),
    at("storage.get", "before a key is read").fails(),
    at("storage.multi_get", "before keys are read").fails(),
    at("storage.scan", "before a range is read").fails(),
    at("storage.reopen", "RocksDB is closed, before it is opened again").fails(),
    at("storage.rewrite", "before the tables of a family are written anew"),
    at("storage.close", "before RocksDB is closed"),
    at("store.mend", "before a disk that refused is tried again"),
    at("checkpoint.begin", "before a checkpoint's files are settled").fails(),
    at("checkpoint.closed", "the WARC is closed for it, the database does not know yet").fails(),
    at("checkpoint.synced", "all is on the disk, before the database is linked").fails(),
    at("checkpoint.linked", "after that, before the crawl goes on").fails(),
    at("checkpoint.apart", "the same without a daemon: before the database is linked").fails(),
    at("checkpoint.apart.linked", "after that").fails(),
    at("checkpoint.digests", "before its files are read for their digests").fails(),
    at("checkpoint.manifest", "before its manifest is written").fails(),
    at("checkpoint.named", "after it, before the checkpoint gets its name").fails(),
    at("checkpoint.prune", "it has its name, before the oldest go").fails(),
    at("export.object", "before an object of a checkpoint is sent elsewhere").fails(),
    at("export.archive", "before a file of the archive is copied with it").fails(),
    at("export.manifest", "all is there, before the manifest").fails(),
    at("export.written", "the copy is whole, before older ones go").fails(),
    at("export.prune", "before an older copy goes").fails(),
    at("export.remove", "before an object goes that no copy names").fails(),
    at("import.file", "a table file has been fetched back").fails(),
    at("import.piece", "a file in pieces has been fetched back").fails(),
    at("member.take", "a copy of a member that is lost is at hand, before its place is taken"),
    at("member.taken", "after that, before the folder is the member's"),
    at("member.enter", "the database is open, before the lease is asked for"),
    at("member.entered", "the lease is held, before the crawl begins"),
    at("restore.staged", "the new state is staged, before the note that says so").fails(),
    at("restore.noted", "after it, before anything is moved").fails(),
    at("restore.closed", "after a file that was open is closed").fails(),
    at("restore.away", "after a file of the old state is moved away").fails(),
    at("restore.placing", "an old file is away, before the new one takes its name").fails(),
    at("restore.placed", "after that").fails(),
    at("upload.begin", "before a closed file of the archive is uploaded").fails(),
    at("upload.verified", "it is there and read back, before that is listed").fails(),
    at("upload.listed", "it is listed, before it may be removed here").fails(),
    at("erase.ordered", "an erasure is ordered for good, before the crawl closes its files").fails(),
    at("erase.noted", "an erasure is noted, before anything is changed").fails(),
    at("erase.carried", "a capture of another host has records of its own").fails(),
    at("erase.noted_bytes", "it is noted which bytes are overwritten next").fails(),
    at("erase.member", "after one of them, before the file is synced").fails(),
    at("erase.overwritten", "after all of them, before that is noted").fails(),
    at("erase.indexed", "the index of the file has no line of them any more").fails(),
    at("erase.lines", "the lines of crawl.jsonl are overwritten").fails(),
    at("erase.batch", "after a batch of the database").fails(),
    at("erase.contents", "contents have other first captures, or went").fails(),
    at("erase.keys", "no key of the host is left, before the tables are written anew").fails(),
    at("erase.rewritten", "the tables are written anew").fails(),
    at("erase.beside", "index, filter and checkpoints are removed").fails(),
    at("erase.certified", "the certificate is written, before the note goes").fails(),
    at("part.noted", "a crawl is to be taken apart, which is noted, before anything is made").fails(),
    at("part.begun", "the new folder says what it is going to be").fails(),
    at("part.rows", "the records of its partitions are copied").fails(),
    at("part.files", "files of the archive and lines are there").fails(),
    at("part.built", "the new folder is whole, before its partitions are given to it").fails(),
    at("part.given", "after that commit, before it may be crawled on").fails(),
    at("part.released", "it may be crawled on, before the old folder is cleared").fails(),
    at("part.cleared", "the old folder is cleared, before that is noted").fails(),
    at("part.merging", "the folder that takes over says so").fails(),
    at("part.leaving", "the other says so too, before anything is copied").fails(),
    at("part.taken", "the records are copied").fails(),
    at("part.carried", "files of the archive and lines are there too").fails(),
    at("part.accepted", "after the commit by which they are its own").fails(),
    at("part.merged", "the other is marked as merged, before it may be crawled on").fails(),
    at("moves.written", "a parcel of partitions lies beside the database, and nowhere else").fails(),
    at("moves.sent", "it is in the store too, its partitions are still the giver's").fails(),
    at("moves.let_go", "after the commit by which they are not, before they are cleared").fails(),
    at("moves.fetched", "a parcel has been fetched from the store").fails(),
    at("moves.begun", "it is noted which partitions are half here").fails(),
    at("moves.rows", "their rows are here, before they count").fails(),
    at("moves.accepted", "after the commit by which they do").fails(),
    at("deduper.take_in", "before a row of links of another member is judged"),
    at("index.open", "the index is looked through and opened").fails(),
    at("index.batch", "before the next entries of the feed are read").fails(),
    at("index.page", "a page was read from the archive, before its document is made").fails(),
    at("index.added", "after a page's document is added").fails(),
    at("index.commit", "before the index is committed").fails(),
    at("index.committed", "after that, before it is told").fails(),
    at("credit.round", "before the notes of a round of link credit are read").fails(),
    at("credit.piece", "before a piece of it is handed to the Store").fails(),
    at("credit.settled", "after it is committed, before the next").fails(),
    at("sink.batch", "before the next entries of the feed are read for a sink").fails(),
    at("sink.entry", "before what is sent of an entry is made").fails(),
    at("sink.answered", "a server has answered, before that is taken in").fails(),
    at("sink.written", "a file has its name, before that is acknowledged").fails(),
    at("sink.acknowledged", "after a batch is acknowledged").fails(),
    at("node.memory", "resident memory is known; an error: it is as much as is allowed").fails(),
    at("node.drain", "before the drain"),
    at("node.drained", "after it, before the Store closes"),
    at("store.close", "before the last group is written").fails(),
    at("store.closing", "the archive is closed, before the run is marked as clean").fails(),
    at("store.closed", "after that"),
    at("filter.save", "before the filter is written").fails(),
    at("filter.saved", "it is written, before it gets its name").fails(),
    at("node.closed", "everything is closed, before the threads end"),
];

/// The point of that name.
pub fn find(name: &str) -> Option<&'static Point> {
    POINTS.iter().find(|point| point.name == name)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// The points that the source passes.
    fn passed(dir: &Path, call: &regex::Regex, found: &mut Vec<String>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("src/base/fault") {
                passed(&path, call, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.extend(call.captures_iter(&text).map(|c| c.get(1).or(c.get(2)).unwrap().as_str().to_owned()));
            }
        }
    }

    #[test]
    fn the_list_names_each_point_of_the_source_and_no_other_and_each_is_in_one_place() {
        let call = regex::Regex::new(r#"faults\s*\.\s*(?:pass|pass_url|wait|wait_url|check)\(\s*"([^"]+)"|const (?:POINT|STARTED): Option<&str> = Some\("([^"]+)"\)"#).unwrap();
        let mut found = Vec::new();
        passed(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &call, &mut found);
        let mut listed: Vec<String> = POINTS.iter().map(|p| p.name.to_owned()).collect();
        found.sort_unstable();
        listed.sort_unstable();
        let lacking = |a: &[String], b: &[String]| a.iter().filter(|n| !b.contains(n)).cloned().collect::<Vec<_>>();
        assert_eq!(lacking(&found, &listed), [""; 0], "passed, but not listed");
        assert_eq!(lacking(&listed, &found), [""; 0], "listed, but not passed");
        assert_eq!(found, listed, "passed or listed twice");
    }
}
