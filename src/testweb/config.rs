//! What a synthetic web looks like: every switch, its default and its check.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser as _;
use serde::Serialize;
use serde_json::Value;

use super::parse_share;
use super::robots::RobotsMode;
use super::traps::TrapSet;
use super::validators::Validators;

/// The shape of a synthetic web. Each field is also a flag of `lycosa testweb` (its doc comment is the help text).
///
/// A *share* is a part of the whole between 0 and 1; the flags also take `10%`. Which pages, links or hosts a share
/// falls on is decided by hashing, so that equal settings give equal webs.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct TestWebConfig {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8500")]
    pub listen: SocketAddr,
    /// Threads that answer requests
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
    /// Number of hosts, h0.test, h1.test ...
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub hosts: u32,
    /// Number of pages a host
    #[arg(long, value_name = "M", default_value_t = 100)]
    pub pages: u32,
    /// Seed of the hash that decides everything
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,

    /// Links a page
    #[arg(long, default_value_t = 20)]
    pub links: u32,
    /// Whether robots.txt names a sitemap index (its sitemaps: a gzip file and a text file), which names a page more for each page
    /// of the host that no page links to; where there is no robots.txt there is one then
    #[arg(long)]
    pub sitemaps: bool,
    /// Share of links and redirects that lead to another test host
    #[arg(long, value_name = "SHARE", default_value_t = 0.10, value_parser = parse_share)]
    pub off_host: f64,
    /// Smallest page, bytes (a page with many links may be larger)
    #[arg(long, value_name = "BYTES", default_value_t = 4 * 1024)]
    pub min_size: u32,
    /// Largest ordinary page, bytes
    #[arg(long, value_name = "BYTES", default_value_t = 12 * 1024)]
    pub max_size: u32,
    /// Share of pages of `large_size` and more
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub large: f64,
    /// Size of a large page, bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1_500_000)]
    pub large_size: u32,

    /// Wait before each answer, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub latency_ms: u64,
    /// Further wait before each answer, between 0 and this by hash, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub jitter_ms: u64,
    /// Whether a connection may be used again
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub keep_alive: bool,
    /// Share of pages sent with `Content-Encoding: gzip` to those who accept it
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub gzip: f64,
    /// Share of pages sent in chunks
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub chunked: f64,
    /// Share of pages sent without a length, the end of the connection ending the body
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub until_eof: f64,

    /// Share of pages that answer 301, 302, 303, 307 or 308
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub redirects: f64,
    /// Longest redirect chain, hops
    #[arg(long, value_name = "HOPS", default_value_t = 3)]
    pub redirect_hops: u8,
    /// Share of pages that redirect into a loop
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub redirect_loops: f64,
    /// Whether `http://h0.test/` redirects to `http://h1.test/`, which so joins the crawl whatever its scope
    #[arg(long)]
    pub start_redirect: bool,
    /// Share of pages whose body is that of another page of the host
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub duplicates: f64,
    /// Share of pages that always answer one of `error_status`
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub errors: f64,
    /// Statuses of error pages, separated by commas
    #[arg(long, value_name = "STATUS,…", value_delimiter = ',', default_value = "404,410,500,503")]
    pub error_status: Vec<u16>,
    /// Seconds in the Retry-After of a 503
    #[arg(long, value_name = "SECS", default_value_t = 1)]
    pub retry_after: u32,
    /// Share of pages that fail (500 or 503) once or twice before they succeed
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub flaky: f64,

    /// robots.txt: none, 404, empty, allow, disallow-some, disallow-all, crawl-delay=SECS, 500, redirect or mixed
    #[arg(long, value_name = "KIND", default_value_t = RobotsMode::Missing)]
    #[serde(skip)]
    pub robots: RobotsMode,
    /// Share of links that lead to paths forbidden (or opened again) by robots.txt, on hosts that forbid some
    #[arg(long, value_name = "SHARE", default_value_t = 0.10, value_parser = parse_share)]
    pub private: f64,
    /// Share of nofollow: that of links with rel=nofollow, and half of it as that of pages with a robots directive
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub nofollow: f64,

    /// Share of pages with broken markup and with links where none may be seen
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub broken: f64,
    /// Share of links written in another spelling of the same URL (port, case, dots, fragment, tracking parameter ...)
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub spellings: f64,
    /// Whether absolute links leave the scheme out (`//h1.test/p/7`), for a web that something in front serves by https
    #[arg(long)]
    pub no_scheme: bool,
    /// Share of links that are area, iframe, link rel=next or meta refresh instead of a
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub kinds: f64,
    /// Share of links to files a crawler skips by extension (half of them) and to plain text files
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub files: f64,
    /// Share of links with Chinese in path or query
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub unicode: f64,
    /// Share of pages whose URL has a query
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub queries: f64,
    /// Share of pages with a canonical link to themselves
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub canonical: f64,
    /// Share of pages with a base element that moves relative links
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub base: f64,
    /// Share of pages in Chinese, encoded as GBK (named in the header, in a meta, or nowhere)
    #[arg(long, alias = "charset-gbk", value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub gbk: f64,
    /// Share of pages in Chinese, encoded as UTF-8
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub chinese: f64,

    /// Time between two changes of a page, in the median of all pages; the changes of a page are a Poisson process
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    #[serde(skip)]
    pub changes: Option<Duration>,
    /// How far pages differ in it: standard deviation of its natural logarithm
    #[arg(long, value_name = "SIGMA", default_value_t = 0.0)]
    #[serde(skip)]
    pub changes_spread: f64,
    /// Moment from which the web changes, seconds since 1970; without it the start of the program. The same settings and moment make
    /// the same web again
    #[arg(long, value_name = "SECS")]
    #[serde(skip)]
    pub changes_from: Option<u64>,
    /// Share of pages whose changes are links to pages that are new then, up to 500 of them
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub grow: f64,
    /// Share of the pages on which no other page hangs that are gone after 2 to 10 times the time of `changes`; half of them come back
    /// after as long again
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub vanish: f64,
    /// Share of pages with something else in each answer, though nothing has changed: a clock with a counter, a hidden token, or a box that
    /// turns
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub noise: f64,
    /// Share of pages that are nearly as another of their host: print versions, pages edited a little, frames of one template
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub near: f64,
    /// ETag, Last-Modified and 304 of pages: none; true: as it is; always-304: whatever has changed; new-etag: another one in each answer
    #[arg(long, value_name = "KIND", default_value_t = Validators::None)]
    #[serde(skip)]
    pub validators: Validators,
    /// Endless spaces linked from start pages and others: none, all or a list of calendar, sessions, relative, ids, days, facets,
    /// tickets, anything, hosts
    #[arg(long, value_name = "LIST", default_value_t = TrapSet::default())]
    #[serde(skip)]
    pub traps: TrapSet,
}

/// Changes begin so many seconds after 1970 at most.
const LATEST: u64 = 100_000_000_000;

impl Default for TestWebConfig {
    /// That of the flags: ten hosts of a hundred plain, well-formed pages; but on a free loopback port.
    fn default() -> Self {
        Flags::parse_from(["testweb", "--listen", "127.0.0.1:0"]).config
    }
}

#[derive(Debug, clap::Parser)]
struct Flags {
    #[command(flatten)]
    config: TestWebConfig,
}

/// A setting that no web can be made of; the sentence says which and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl TestWebConfig {
    /// A web with some of everything that does not need retries: redirects, duplicates, 404s, broken markup,
    /// spellings, all link kinds, charsets, framings and robots.txt variants.
    pub fn rough() -> Self {
        Self {
            redirects: 0.08,
            redirect_loops: 0.01,
            duplicates: 0.05,
            errors: 0.05,
            error_status: vec![404, 410],
            robots: RobotsMode::Mixed,
            nofollow: 0.05,
            broken: 0.5,
            spellings: 0.3,
            kinds: 0.1,
            files: 0.05,
            unicode: 0.05,
            queries: 0.2,
            canonical: 0.2,
            base: 0.1,
            gbk: 0.2,
            gzip: 0.3,
            chunked: 0.3,
            until_eof: 0.1,
            ..Self::default()
        }
    }

    /// Says which setting is wrong, if one is.
    pub fn check(&self) -> Result<(), ConfigError> {
        let positive = [("hosts", u64::from(self.hosts)), ("pages", u64::from(self.pages))];
        for (name, value) in positive.into_iter().chain([("threads", self.threads as u64)]) {
            if value == 0 {
                return Err(ConfigError(format!("{name} must be at least 1")));
            }
        }
        let limits = [("links", self.links, 10_000), ("max_size", self.max_size, 64 << 20)];
        for (name, value, most) in limits.into_iter().chain([("large_size", self.large_size, 64 << 20)]) {
            if value > most {
                return Err(ConfigError(format!("{name} is {value}; it may be at most {most}")));
            }
        }
        if self.min_size > self.max_size {
            return Err(ConfigError(format!("min_size {} is above max_size {}", self.min_size, self.max_size)));
        }
        if self.start_redirect && self.hosts < 2 {
            return Err(ConfigError("start_redirect needs at least 2 hosts".to_owned()));
        }
        self.check_shares()?;
        self.check_changes()?;
        self.check_errors()
    }

    fn check_shares(&self) -> Result<(), ConfigError> {
        let settings = serde_json::to_value(self).unwrap_or_default();
        // Every fraction is a share; what is no number is null there.
        let is_share = |(_, value): &(&String, &Value)| value.is_f64() || value.is_null();
        for (name, value) in settings.as_object().into_iter().flatten().filter(is_share) {
            let share = value.as_f64().unwrap_or(f64::NAN);
            if !(0.0..=1.0).contains(&share) {
                return Err(ConfigError(format!("{name} is {share}; a share lies between 0 and 1")));
            }
        }
        let answers = self.redirects + self.redirect_loops + self.duplicates + self.near + self.errors + self.flaky;
        if answers > 1.0 {
            let parts = "redirects, redirect_loops, duplicates, near, errors and flaky";
            return Err(ConfigError(format!("{parts} make {answers} together; the sum may be at most 1")));
        }
        let targets = self.private + self.files + self.unicode;
        if targets > 1.0 {
            let parts = "private, files and unicode";
            return Err(ConfigError(format!("{parts} make {targets} together; the sum may be at most 1")));
        }
        if self.chunked + self.until_eof > 1.0 {
            return Err(ConfigError("chunked and until_eof may be at most 1 together".to_owned()));
        }
        if self.gbk + self.chinese > 1.0 {
            return Err(ConfigError("gbk and chinese may be at most 1 together".to_owned()));
        }
        Ok(())
    }

    fn check_changes(&self) -> Result<(), ConfigError> {
        if !(0.0..=10.0).contains(&self.changes_spread) {
            let spread = self.changes_spread;
            return Err(ConfigError(format!("changes_spread is {spread}; it lies between 0 and 10")));
        }
        match self.changes {
            Some(changes) if changes.is_zero() => Err(ConfigError("changes is 0; it must be longer".to_owned())),
            _ if self.changes_from.is_some_and(|from| from > LATEST) => {
                Err(ConfigError(format!("changes_from lies more than {LATEST} seconds after 1970")))
            }
            None if self.grow + self.vanish > 0.0 => {
                Err(ConfigError("grow and vanish need changes: a page grows at its changes".to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn check_errors(&self) -> Result<(), ConfigError> {
        if self.errors > 0.0 && self.error_status.is_empty() {
            return Err(ConfigError("error_status is empty; name at least one, for example 404".to_owned()));
        }
        match self.error_status.iter().find(|status| !(400..=599).contains(*status)) {
            Some(status) => Err(ConfigError(format!("error_status has {status}; errors lie between 400 and 599"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testweb::traps::Trap;

    fn parsed(flags: &[&str]) -> Result<TestWebConfig, String> {
        let all = ["testweb", "--listen", "127.0.0.1:0"].into_iter().chain(flags.iter().copied());
        Flags::try_parse_from(all).map(|flags| flags.config).map_err(|error| error.to_string())
    }

    #[test]
    fn the_flags_have_the_defaults_of_the_library() {
        assert_eq!(parsed(&[]).unwrap(), TestWebConfig::default());
        assert_eq!(TestWebConfig::default().check(), Ok(()));
        assert_eq!(TestWebConfig::rough().check(), Ok(()));
    }

    #[test]
    fn flags_are_read_with_shares_in_percent_lists_and_names() {
        let flags =
            ["--redirects", "15%", "--error-status=404,503", "--robots", "crawl-delay=1.5", "--traps", "relative"];
        let config = parsed(&flags).unwrap();
        assert_eq!((config.redirects, config.error_status), (0.15, vec![404, 503]));
        assert_eq!(config.robots, RobotsMode::CrawlDelay(1.5));
        assert_eq!(config.traps, TrapSet::from(Trap::Relative));
        let flags = ["--changes", "1m 30s", "--changes-spread=1.5", "--validators", "always-304", "--changes-from=7"];
        let config = parsed(&flags).unwrap();
        assert_eq!((config.changes, config.changes_from), (Some(Duration::from_secs(90)), Some(7)));
        assert_eq!((config.changes_spread, config.validators), (1.5, Validators::Always304));
        assert!(!parsed(&["--keep-alive", "false", "--charset-gbk", "0.5"]).unwrap().keep_alive);
    }

    #[test]
    fn wrong_flags_are_refused_with_what_is_allowed() {
        let wrong = [
            (["--redirects", "2"], "0 to 1"),
            (["--flaky", "many"], "no share"),
            (["--robots", "sometimes"], "disallow-some"),
            (["--robots", "crawl-delay=-1"], "no delay"),
            (["--traps", "bears"], "calendar"),
            (["--validators", "honest"], "new-etag"),
            (["--changes", "often"], "--changes"),
        ];
        for (flags, hint) in wrong {
            let error = parsed(&flags).unwrap_err();
            assert!(error.contains(hint), "{error}");
        }
    }

    #[test]
    fn impossible_settings_are_refused_by_name() {
        type Change = fn(&mut TestWebConfig);
        let wrong: [(Change, &str); 17] = [
            (|config| config.hosts = 0, "hosts"),
            (|config| config.pages = 0, "pages"),
            (|config| config.threads = 0, "threads"),
            (|config| config.links = 20_000, "links"),
            (|config| config.min_size = 20_000, "min_size"),
            (|config| config.gbk = f64::NAN, "gbk"),
            (|config| config.nofollow = -0.1, "nofollow"),
            (|config| (config.redirects, config.errors) = (0.6, 0.6), "sum"),
            (|config| (config.chunked, config.until_eof) = (0.6, 0.6), "until_eof"),
            (|config| (config.files, config.unicode) = (0.6, 0.6), "unicode"),
            (|config| config.error_status = vec![404, 200], "200"),
            (|config| (config.start_redirect, config.hosts) = (true, 1), "start_redirect"),
            (|config| (config.gbk, config.chinese) = (0.6, 0.6), "chinese"),
            (|config| config.changes = Some(Duration::ZERO), "changes"),
            (|config| config.changes_from = Some(u64::MAX), "changes_from"),
            (|config| config.changes_spread = f64::NAN, "changes_spread"),
            (|config| config.vanish = 0.1, "vanish"),
        ];
        for (change, hint) in wrong {
            let mut config = TestWebConfig::default();
            change(&mut config);
            let error = config.check().unwrap_err().to_string();
            assert!(error.contains(hint), "{error}");
        }
    }
}
