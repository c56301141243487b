//! Sinks that are files, read by other people's tools.

use std::path::Path;
use std::process::Command;

use super::*;
use crate::sandbox::python;

const READ: &str = r#"
import glob, json, re, sys
import duckdb
jsonl, parquet = sys.argv[1:]
after, entries, captures = 0, [], {}
for path in sorted(glob.glob(jsonl + "/*.jsonl")):
    first, last = map(int, re.fullmatch(r"[0-9a-f]{16}-(\d{12,})-(\d{12,})\.jsonl", path.rsplit("/", 1)[1]).groups())
    assert first == after + 1, (path, after)
    with open(path) as lines:
        numbers = []
        for line in lines:
            line = json.loads(line)
            numbers.append(line["seq"])
            if "capture" in line and line["capture"].get("warc"):
                captures[line["seq"]] = line["url"]
    assert numbers == list(range(first, last + 1)), (path, numbers)
    manifest = json.load(open(path + ".MANIFEST.json"))
    assert manifest["feed"]["after"] == after and manifest["feed"]["last"] == last, manifest
    entries += numbers
    after = last
rows = duckdb.sql("SELECT seq, url FROM read_parquet('%s/*.parquet')" % parquet).fetchall()
assert len(rows) == len(set(rows))
print(json.dumps({"entries": len(entries), "same": dict(rows) == captures, "rows": len(rows), "files": len(glob.glob(jsonl + "/*.jsonl"))}))
"#;

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_hold_every_entry_once_over_kills_and_others_read_them() {
    let Some(python) = python() else { return };
    let sinks = "[[sink]]\nname = \"lines\"\nkind = \"jsonl\"\nbatch = 25\nevery = \"200ms\"\ntext = true\n\
                 [[sink]]\nname = \"table\"\nkind = \"parquet\"\nfolder = \"../table\"\nbatch = 40\nevery = \"200ms\"\n";
    let mut sandbox = sandbox(sinks);
    let (lines, table) = (sandbox.data().join("sinks/lines"), sandbox.folder().join("table"));
    for kill in ["sink.entry=kill@30", "sink.written=kill@2", "sink.acknowledged=kill@2", "sink.batch=kill@3"] {
        let mut crawl = sandbox.start(&["--until-done"], Some(kill));
        assert_eq!(crawl.wait().code(), None, "{kill}: {}", crawl.log());
    }
    let log = sandbox.finish();
    let all = sandbox.truth().len();
    for name in names(&lines).iter().chain(&names(&table)) {
        assert!(!name.contains("lycosa-part"), "{name} is half a file\n{log}");
    }
    let read = Command::new(python).args(["-c", READ]).arg(&lines).arg(&table).output().unwrap();
    let told = String::from_utf8_lossy(&read.stdout).into_owned() + &String::from_utf8_lossy(&read.stderr);
    let told: Value = serde_json::from_str(told.trim()).unwrap_or_else(|e| panic!("{e}: {told}\n{log}"));
    assert_eq!((told["entries"].as_u64(), told["same"].as_bool()), (Some(all as u64), Some(true)), "{told}");
    assert!(told["rows"].as_u64() > Some(60) && told["files"].as_u64() >= Some(4), "{told}");
}
