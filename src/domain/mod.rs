//! Pure rules of crawling: no tokio, actix, rocksdb, IO or clock. `now` is an argument.

#[cfg(test)]
pub(crate) mod cases;
pub(crate) mod coded;
pub mod fingerprint;
pub mod found_as;
pub mod frontier;
pub mod host;
pub mod login;
pub mod memory;
pub mod note;
pub mod orders;
pub mod outcome;
pub mod partition;
pub mod politeness;
pub mod rank;
pub mod reach;
pub mod reason;
pub mod revisit;
pub mod robots;
pub mod scope;
pub mod secret_header;
pub mod seed;
pub mod statuses;
pub mod text;
pub mod textprint;
pub mod traps;
pub mod url;
pub mod usage;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }

    /// Lines of code in `folder` that hold one of `words`, comments and this test apart.
    fn lines_with(folder: &str, words: &[&str]) -> Vec<String> {
        let mut found = Vec::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut found);
        assert!(found.len() > 10, "{folder} is not where it was");
        let mut lines = Vec::new();
        for path in found.iter().filter(|path| !path.ends_with("src/domain/mod.rs")) {
            for line in fs::read_to_string(path).unwrap().lines().filter(|l| !l.trim_start().starts_with("//")) {
                if words.iter().any(|word| line.contains(word)) {
                    lines.push(format!("{}: {line}", path.display()));
                }
            }
        }
        lines
    }

    #[test]
    fn the_domain_is_pure() {
        let banned = [
            "tokio",
            "actix",
            "rocksdb",
            "std::fs",
            "std::io",
            "std::env",
            "std::thread",
            "std::process",
            "SystemTime",
            "Instant",
            "TcpStream",
            "UdpSocket",
            "crate::crawl",
            "crate::admin",
            "crate::app",
            "crate::cli",
            "crate::base::clock",
            "crate::config",
            "crate::document",
            "crate::net",
            "crate::storage",
            "crate::telemetry",
            "crate::warc",
        ];
        assert_eq!(lines_with("src/domain", &banned), Vec::<String>::new());
    }

    /// The fuzzer builds this room without those.
    #[test]
    fn what_is_read_from_bodies_needs_only_the_domain() {
        let banned = [
            "crate::crawl",
            "crate::crawl::parser::inspect",
            "crate::app",
            "crate::config",
            "crate::document",
            "crate::net",
            "crate::storage",
        ];
        assert_eq!(lines_with("src/parse", &banned), Vec::<String>::new());
    }

    #[test]
    fn rocksdb_has_one_importer() {
        let outside: Vec<String> = lines_with("src", &["rocksdb::", "use rocksdb"])
            .into_iter()
            .filter(|line| !line.contains("/src/storage/rocks/"))
            .collect();
        assert_eq!(outside, Vec::<String>::new());
    }
}
