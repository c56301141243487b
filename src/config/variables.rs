//! Environment variables: which of them are keys, and which look as if they were meant to be.

use super::file::FileForm;
use super::sections::{ADMIN_READ_TOKEN, ADMIN_TOKEN};
use super::source;

/// Variables that are no keys: those that the program reads elsewhere, and those of its tests and benches.
const OTHERS: [&str; 19] = [
    ADMIN_TOKEN,
    ADMIN_READ_TOKEN,
    "LYCOSA_FAULTS",
    "LYCOSA_BENCH_PAGES",
    "LYCOSA_BLACKOUTS",
    "LYCOSA_COPY_KILLS",
    "LYCOSA_DEATHS",
    "LYCOSA_DEATHS_SEED",
    "LYCOSA_DOCS",
    "LYCOSA_KILLS",
    "LYCOSA_KILL_SEED",
    "LYCOSA_PAGES",
    "LYCOSA_PASSES",
    "LYCOSA_PYTHON",
    "LYCOSA_READERS",
    "LYCOSA_SCALE",
    "LYCOSA_SHOTS",
    "LYCOSA_TEST_WRITER_DIR",
    "LYCOSA_",
];

/// What Kubernetes and container links set for a service of the name `lycosa`.
const OF_SERVICES: [&str; 2] = ["LYCOSA_PORT", "LYCOSA_SERVICE_"];

/// Share of a name that a slip of the keyboard leaves as it was.
const NEAR: f64 = 0.7;

/// `LYCOSA_FETCH__MAX_BODY` is `fetch.max_body`; names without a double underscore are not ours.
pub(super) fn key(name: &str) -> Option<String> {
    let key = name.strip_prefix("LYCOSA_")?;
    key.contains("__").then(|| key.to_ascii_lowercase().replace("__", "."))
}

/// A remark on a variable that nobody reads, such as `LYCOSA_FETCH_MAX_BODY`; those with a double underscore are keys, or errors.
pub(super) fn misspelt(name: &str) -> Option<String> {
    let ours = name.starts_with("LYCOSA_") && key(name).is_none() && !OTHERS.contains(&name);
    if !ours || OF_SERVICES.iter().any(|service| name.starts_with(service)) {
        return None;
    }
    if let Some(problem) = list_of_tables(&name.trim_start_matches("LYCOSA_").to_ascii_lowercase()) {
        return Some(format!("environment variable {name} is not read: {problem}"));
    }
    let near = nearest(name).map_or_else(
        || "keys are set by LYCOSA_SECTION__KEY, and `lycosa config show` lists them".to_owned(),
        |(variable, key)| format!("the key {key} is set by {variable}"),
    );
    Some(format!("environment variable {name} is not read; {near}"))
}

/// Why a key cannot be set by a variable: its section is a list of tables, such as `[[schedule]]`.
pub(super) fn list_of_tables(key: &str) -> Option<String> {
    let list = key.split('.').next().filter(|list| source::is_list_of_tables(list))?;
    Some(format!(
        "{list} is a list of tables, which variables cannot set; write [[{list}]] in the file, or --set '{list}=[{{…}}]'"
    ))
}

/// The variable of a key, or another one that is read, with the name most like this one.
fn nearest(name: &str) -> Option<(String, String)> {
    let variable = |key: &str| format!("LYCOSA_{}", key.replace('.', "__").to_ascii_uppercase());
    let keys = source::leaves(&FileForm::default()).into_iter().map(|leaf| (variable(&leaf.key), leaf.key));
    let like = |other: &str| strsim::normalized_damerau_levenshtein(bare(name).as_str(), bare(other).as_str());
    let scored = keys.map(|(variable, key)| (like(&variable), variable, key));
    let best = scored.filter(|(score, ..)| *score >= NEAR).max_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(_, variable, key)| (variable, key))
}

/// What tells names apart.
fn bare(name: &str) -> String {
    name.trim_start_matches("LYCOSA_").replace('_', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_nobody_reads_is_remarked_upon_with_the_nearest_key() {
        for (name, part) in [
            ("LYCOSA_FETCH_MAX_BODY", "the key fetch.max_body is set by LYCOSA_FETCH__MAX_BODY"),
            ("LYCOSA_FETCH_TIMEOUTS_CONECT", "LYCOSA_FETCH__TIMEOUTS__CONNECT"),
            ("LYCOSA_CRAWL_MAX_PAGE", "LYCOSA_CRAWL__MAX_PAGES"),
            ("LYCOSA_WHATEVER_IT_IS", "LYCOSA_SECTION__KEY"),
            ("LYCOSA_SCHEDULE", "write [[schedule]] in the file, or --set 'schedule=[{…}]'"),
            ("LYCOSA_PRIORITY", "priority is a list of tables"),
            ("LYCOSA_HOST", "[[host]]"),
        ] {
            let told = misspelt(name).unwrap();
            assert!(told.contains(name) && told.contains(part), "{told}");
        }
        for fine in ["LYCOSA_PORT_8080_TCP", "LYCOSA_SERVICE_HOST", "LYCOSA_", "PATH", "LYCOSA_ADMIN_TOKEN"] {
            assert_eq!(misspelt(fine), None, "{fine}");
        }
        assert_eq!(misspelt("LYCOSA_FETCH__MAX_BODI"), None, "that is an error elsewhere");
    }

    /// The variables that files under these folders read or are told to set.
    fn named(folder: &str, into: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            if entry.is_dir() {
                named(entry.to_str().unwrap(), into);
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&entry) else { continue };
            let quoted = text.split('"').filter(|part| part.starts_with("LYCOSA_"));
            let name = |c: char| c.is_ascii_uppercase() || c == '_';
            into.extend(quoted.filter(|part| part.chars().all(name)).map(str::to_owned));
        }
    }

    #[test]
    fn the_variables_of_tests_and_benches_are_known() {
        let mut found = Vec::new();
        for folder in ["tests/it", "benches", "src/base/fault"] {
            named(&format!("{}/{folder}", env!("CARGO_MANIFEST_DIR")), &mut found);
        }
        assert!(found.len() > 5, "{found:?}");
        let unknown: Vec<_> = found.iter().filter(|name| misspelt(name).is_some()).collect();
        assert!(unknown.is_empty(), "add them to OTHERS: {unknown:?}");
    }
}
