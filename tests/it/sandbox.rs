//! The real program on a synthetic web of this process: how the tests of the daemon start, end and judge it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use lycosa::domain::url::{Canonicaliser, CleanRules};
use lycosa::testweb::{TestWeb, TestWebConfig, TruthQuery, TruthScope};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Longest wait for anything; a test that comes here has failed. A crawl made for many kills is longer.
fn patience() -> Duration {
    let kills = std::env::var("LYCOSA_KILLS").map_or(0, |n| n.parse().unwrap());
    Duration::from_secs(120 + kills + 60 * (u64::from(scale()) - 1))
}

/// How much larger tests are made that can be: `make soak-index` says it; else 1.
pub fn scale() -> u32 {
    std::env::var("LYCOSA_SCALE").map_or(1, |n| n.parse::<u32>().unwrap().max(1))
}

/// A synthetic web and a data folder for the daemon that crawls it.
pub struct Sandbox {
    pub web: TestWeb,
    folder: tempfile::TempDir,
    config: String,
    data: String,
    lives: usize,
}

impl Sandbox {
    /// `settings` are lines of TOML, in dotted form, beyond what leads the crawl to the web.
    pub fn new(web: TestWebConfig, settings: &str) -> Self {
        Self::with(web, &format!("disk.pause_below = \"1MB\"\ndisk.reserve = 0\n{settings}"))
    }

    /// The same without a word about the disk.
    pub fn with(web: TestWebConfig, settings: &str) -> Self {
        let web = TestWeb::start(web).unwrap();
        let address = web.addr();
        let config = format!(
            "crawl.seeds = [\"{}\"]\nscope.mode = \"any\"\nadmin.listen = \"127.0.0.1:0\"\n\
             net.allow = [\"127.0.0.1/32:{}\"]\ndns.overrides = {{ \"*.test\" = \"{address}\" }}\n\
             log.level = \"info\"\n{settings}\n",
            web.start_url(),
            address.port(),
        );
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("disk")).unwrap();
        Self { web, folder, config, data: "data".into(), lives: 0 }
    }

    /// A program with just these settings, for a site of the test's own.
    pub fn alone(config: &str) -> Self {
        let web = TestWebConfig { hosts: 1, pages: 1, ..TestWebConfig::default() };
        Self { config: config.to_owned(), ..Self::with(web, "") }
    }

    /// More settings from now on: whole lines of TOML.
    pub fn also(&mut self, settings: &str) {
        self.config += settings;
    }

    /// Without the settings from the line on that begins so.
    pub fn without(&mut self, begins: &str) {
        let at = self.config.find(begins).unwrap();
        self.config.truncate(at);
    }

    /// The folder in which the data folder is made, alone.
    pub fn disk(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    pub fn data(&self) -> PathBuf {
        self.disk().join(&self.data)
    }

    /// Goes on with another data folder beside the first.
    pub fn move_to(&mut self, data: &str) {
        self.data = data.to_owned();
    }

    /// The folder that holds the data folder.
    pub fn folder(&self) -> PathBuf {
        self.disk()
    }

    /// A place for a test's own files, outside of the disk.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What is to be fetched.
    pub fn truth(&self) -> BTreeSet<String> {
        self.web.truth(TruthQuery { scope: TruthScope::Any, ..TruthQuery::default() })
    }

    /// Starts `lycosa run` on the data folder.
    pub fn start(&mut self, arguments: &[&str], faults: Option<&str>) -> Daemon {
        let faults = faults.map(|faults| ("LYCOSA_FAULTS", OsString::from(faults)));
        self.start_with(arguments, faults.as_slice())
    }

    /// The same with these variables of the environment.
    pub fn start_with(&mut self, arguments: &[&str], variables: &[(&str, OsString)]) -> Daemon {
        self.lives += 1;
        let config = self.config_file();
        let log = self.folder.path().join(format!("life-{}.log", self.lives));
        let mut command = program();
        command.arg("run").arg(&config).arg("--data").arg(self.data()).arg("--no-progress").args(arguments);
        with_s3_keys(&mut command);
        command.envs(variables.iter().cloned());
        Daemon::spawn(command, log)
    }

    /// The configuration, written down.
    pub fn config_file(&self) -> PathBuf {
        let config = self.folder.path().join("lycosa.toml");
        fs::write(&config, &self.config).unwrap();
        config
    }

    /// Lets it finish, and expects that it ends as done.
    pub fn finish(&mut self) -> String {
        let mut last = self.start(&["--until-done"], None);
        let status = last.wait();
        let log = last.log();
        assert_eq!(status.code(), Some(0), "{log}");
        log
    }

    /// The lines of `crawl.jsonl`; a torn last line is left out.
    pub fn lines(&self) -> Vec<serde_json::Value> {
        lines_of(&self.data())
    }

    /// Names in the WARC folder that are still open.
    pub fn open_files(&self) -> Vec<String> {
        files(&self.data().join("warc"), ".open")
    }

    /// How many index lines each URL has, whatever spelling it was asked for under.
    ///
    /// Each line is followed to its record, which must be one gzip member or zstd frame with that URL; each file must be sorted.
    pub fn index(&self) -> BTreeMap<String, u32> {
        let dir = self.data().join("warc");
        let mut urls = BTreeMap::new();
        for entry in self.entries() {
            let url = entry["url"].as_str().unwrap();
            let record = record(&dir, &entry);
            let head = record.split("\r\n\r\n").next().unwrap();
            assert!(head.contains(&format!("\r\nWARC-Target-URI: {url}\r\n")), "{entry}\n{head}");
            *urls.entry(canonical(url)).or_insert(0) += 1;
        }
        urls
    }

    /// The index lines of all files; each file must be sorted.
    pub fn entries(&self) -> Vec<serde_json::Value> {
        let dir = self.data().join("warc");
        let mut entries = Vec::new();
        for name in files(&dir, ".cdxj") {
            let text = fs::read_to_string(dir.join(&name)).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines.is_sorted_by_key(|l| l.as_bytes()), "{name} is not sorted");
            let json = |line: &&str| serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap();
            entries.extend(lines.iter().map(json));
        }
        entries
    }

    /// A revisit says "the same payload as there": a response with that payload must be in the archive.
    pub fn revisits_have_responses(&self) -> usize {
        let entries = self.entries();
        let is_revisit = |e: &&serde_json::Value| e["mime"] == "warc/revisit";
        let payloads: BTreeSet<&str> =
            entries.iter().filter(|e| !is_revisit(e)).map(|e| e["digest"].as_str().unwrap()).collect();
        let lonely: Vec<_> =
            entries.iter().filter(is_revisit).filter(|e| !payloads.contains(e["digest"].as_str().unwrap())).collect();
        assert!(lonely.is_empty(), "{} revisits of a payload that is nowhere: {:?}", lonely.len(), lonely.first());
        entries.iter().filter(is_revisit).count()
    }

    /// The text of the record that an index line names.
    pub fn record(&self, entry: &serde_json::Value) -> String {
        record(&self.data().join("warc"), entry)
    }
}

/// The lines of a data folder's `crawl.jsonl`; a torn last line is left out.
pub fn lines_of(data: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(data.join("crawl.jsonl")).unwrap_or_default();
    text.split_inclusive('\n').filter(|l| l.ends_with('\n')).map(|l| serde_json::from_str(l).unwrap()).collect()
}

/// The text of the record that an index line names.
fn record(dir: &Path, entry: &serde_json::Value) -> String {
    let number = |field: &str| entry[field].as_str().unwrap().parse::<u64>().unwrap();
    let mut file = File::open(dir.join(entry["filename"].as_str().unwrap())).unwrap();
    file.seek(SeekFrom::Start(number("offset"))).unwrap();
    let mut text = Vec::new();
    let member = file.take(number("length"));
    match entry["filename"].as_str().unwrap().ends_with(".zst") {
        true => zstd::stream::copy_decode(member, &mut text).unwrap(),
        false => drop(flate2::read::GzDecoder::new(member).read_to_end(&mut text).unwrap()),
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Names of a folder with this ending, sorted.
fn files(dir: &Path, ending: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|n| n.ends_with(ending));
    names.sort();
    names
}

/// What an index of the pages is to hold, by `crawl.jsonl` alone: the last line of each page tells.
pub fn indexable(data: &Path) -> BTreeSet<String> {
    let mut last = BTreeMap::new();
    for line in lines_of(data) {
        last.insert(line["url"].as_str().unwrap().to_owned(), line);
    }
    let text = |line: &serde_json::Value| {
        line["mime"].as_str().is_some_and(|mime| mime == "text/html" || mime == "text/plain")
    };
    let hidden = |line: &serde_json::Value| {
        line["notes"].as_array().is_some_and(|notes| notes.iter().any(|note| note == "noindex"))
    };
    let is_page =
        |line: &serde_json::Value| line["status"] == 200 && text(line) && line["target"].is_null() && !hidden(line);
    last.into_iter().filter(|(_, line)| is_page(line)).map(|(url, _)| url).collect()
}

/// A URL as a page's key: records bear it as it was asked for.
pub fn canonical(url: &str) -> String {
    Canonicaliser::new(CleanRules::default()).parse(url).unwrap().as_str().to_owned()
}

/// True for what a crawler fetches to learn the rules, not as a page.
pub fn is_rules(url: &str) -> bool {
    url.ends_with("/robots.txt") || url.ends_with("/rules/robots-real.txt")
}

/// The program, with nothing of this process's `LYCOSA_` variables.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lycosa"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("LYCOSA_") {
            command.env_remove(name);
        }
    }
    command
}

/// The keys of `tests/s3_server.py`.
pub fn with_s3_keys(command: &mut Command) {
    command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test").env("AWS_REGION", "us-east-1");
}

/// The program, running; killed when dropped.
pub struct Daemon {
    child: Child,
    log: PathBuf,
}

impl Daemon {
    pub fn spawn(mut command: Command, log: PathBuf) -> Self {
        let file = File::create(&log).unwrap();
        let child = command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file).spawn().unwrap();
        Self { child, log }
    }

    /// What it said so far.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// The same, when it may have ended meanwhile.
    pub fn signal_if_there(&mut self, signal: Signal) {
        if self.ended().is_none() {
            self.signal(signal);
        }
    }

    /// Its number in the system.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Waits for its end.
    /// Waits until it has ended, which it gives, or until that is `enough` which it said.
    pub fn until_ended_or(&mut self, enough: impl Fn(&str) -> bool) -> bool {
        let (child, log) = (&mut self.child, &self.log);
        let said = || fs::read_to_string(log).unwrap();
        let look = || {
            let ended = child.try_wait().unwrap().is_some();
            (ended || enough(&said())).then_some(ended)
        };
        until("the program's end, or enough", look, said)
    }

    pub fn wait(&mut self) -> ExitStatus {
        until("the program's end", || self.child.try_wait().unwrap(), || fs::read_to_string(&self.log).unwrap())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until `look` gives something; panics with `said` when it does not come.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>, said: impl Fn() -> String) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < patience(), "{what} did not come\n{}", said());
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// Head and body of an answer of the synthetic web, asked for in the plainest way there is: HTTP/1.0, no coding.
pub fn plain_get(web: &TestWeb, url: &str, headers: &str) -> (String, Vec<u8>) {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_at(rest.find('/').unwrap());
    let mut stream = TcpStream::connect(web.addr()).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\n{headers}\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
    let body = answer.split_off(end);
    (String::from_utf8(answer).unwrap(), body)
}

/// The Python that has the archive tools; `None` where the test may be left out.
pub fn python() -> Option<std::ffi::OsString> {
    let python = std::env::var_os("LYCOSA_PYTHON").filter(|p| !p.is_empty());
    if python.is_none() {
        left_out("LYCOSA_PYTHON", "a Python with `pip install -r tests/tools/requirements.txt`");
    }
    python
}

/// Notes that a test is left out for want of a tool; fails where nothing may be left out.
pub fn left_out(variable: &str, what: &str) {
    assert!(std::env::var_os("CI").is_none(), "needed here: set {variable} to {what} (`make test` does)");
    eprintln!("skipped: set {variable} to {what} (`make test` does)");
}

/// Runs `tests/warc_tools.py`: warcio and FastWARC read every record, decode every body, and follow every index line.
pub fn judge_archive(python: &std::ffi::OsStr, warc: &Path, manifest: Option<&Path>) -> String {
    let mut command = Command::new(python);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/warc_tools.py")).arg(warc);
    if let Some(manifest) = manifest {
        command.arg("--manifest").arg(manifest);
    }
    let done = command.output().unwrap();
    let text = [done.stdout, done.stderr].map(|t| String::from_utf8_lossy(&t).into_owned()).concat();
    assert!(done.status.success(), "{text}");
    text
}
