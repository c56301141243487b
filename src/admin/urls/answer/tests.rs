//! One sentence for each kind of state, and the facts: the cases of `tests/data/admin/explain.txt`.

use serde_json::{Value, json};

use super::*;
use crate::admin::urls::deciding;
use crate::admin::views::CanonicalView;
use crate::domain::cases::{blocks, lay};
use crate::domain::url::Canonicaliser;

const NOW: UnixMillis = UnixMillis(1_714_979_289_000);

#[test]
fn each_url_is_told_what_became_of_it_why_and_what_to_do() {
    let table = include_str!("../../../../tests/data/admin/explain.txt");
    let cases = blocks(table, &["+", "explanation", "queue", "host", "page"]);
    let (usual, cases) = cases.split_first().unwrap();
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let mut wrong = Vec::new();
    for case in cases {
        let said = read(case.one("+").unwrap());
        let mut known = read(usual.one("explanation").unwrap());
        let url = Canonicaliser::default().parse("http://a.test/x").unwrap();
        known["canonical"] = json!(CanonicalView::new("http://a.test/x", &url));
        for part in ["queue", "host", "page"].into_iter().filter(|part| said[part].is_object()) {
            known[part] = read(usual.one(part).unwrap());
        }
        lay(&said, &mut known);
        let e: Explanation = serde_json::from_value(known).unwrap();
        let facts = deciding(&e, NOW).into_iter().map(|fact| format!("{}: {}\n", fact.name, fact.text));
        wrong.extend(case.check(&format!("\n{}\n{}", answer(&e, NOW), facts.collect::<String>())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
