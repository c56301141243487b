use proptest::prelude::*;

use super::*;
use crate::domain::cases::check;
use crate::domain::words::form;

const NOW: UnixMillis = UnixMillis(1_700_000_000_000);

fn shown(part: &Part) -> String {
    let (name, value) = match part {
        Part::Text(place, sought) => {
            let name = ["", "title", "url", "key"][*place as usize];
            let mut text = String::new();
            let mut before = 0;
            for (place, term) in &sought.terms {
                let joint = if *place == 0 { String::new() } else { "+".into() };
                let far = if *place > before + 1 { format!("{}:", place - before) } else { String::new() };
                text += &format!("{joint}{far}{term}");
                before = *place;
            }
            (name, text + if sought.open { "*" } else { "" })
        }
        Part::Filter(filter) => match filter {
            Filter::Host(host) => ("host", host.clone()),
            Filter::Site(host) => ("site", host.clone()),
            Filter::Language(language) => ("lang", language.clone()),
            Filter::Mime(mime) => ("mime", mime.clone()),
            Filter::Links(url) => ("links", url.clone()),
            Filter::Since(at) => ("since", at.0.to_string()),
            Filter::Before(at) => ("before", at.0.to_string()),
        },
    };
    if name.is_empty() { value } else { format!("{name}:{value}") }
}

#[test]
fn queries_are_read_as_the_table_says() {
    check(include_str!("../../../tests/data/ask.txt"), |[text]| {
        let ask = Ask::read(text, NOW).unwrap();
        let clause = |clause: &Clause| {
            let any = clause.any.iter().map(|all| all.iter().map(shown).collect::<Vec<_>>().join(" "));
            format!("{}{}", if clause.not { "!" } else { "" }, any.collect::<Vec<_>>().join(" or "))
        };
        let mut tree = ask.clauses.iter().map(clause).collect::<Vec<_>>().join(" & ");
        for left in &ask.left_out {
            tree += &format!(" # {left}");
        }
        [tree.trim_start().to_owned()]
    });
}

#[test]
fn an_unknown_field_is_told_with_the_list() {
    let error = Ask::read("spider titel:web", NOW).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no field \"titel\"; fields are title, url, key, host, site, lang, mime, links, since, before; put what is no \
         field in quotation marks"
    );
    for field in FIELDS {
        assert!(Ask::read(&format!("{field}:x"), NOW).is_ok(), "{field}");
    }
}

#[test]
fn a_query_that_is_too_long_is_cut_and_says_so() {
    let many = (0..40).map(|n| format!("w{n} ")).collect::<String>();
    let ask = Ask::read(&many, NOW).unwrap();
    assert_eq!(ask.clauses.len(), MOST_WORDS);
    assert_eq!(ask.left_out, ["what stands behind the first 32 words"]);
    let long = "é".repeat(300);
    let told = format!("{}: nothing in it can be looked for", "é".repeat(20));
    assert_eq!(Ask::read(&long, NOW).unwrap().left_out, ["what stands behind the first 512 bytes", &told]);
    let text = "图书馆".repeat(50);
    let parts: usize = Ask::read(&text, NOW).unwrap().clauses.iter().flat_map(|clause| &clause.any).map(Vec::len).sum();
    assert_eq!(parts, MOST_WORDS);
}

proptest! {
    #[test]
    fn every_text_is_a_query_or_names_a_field(text in "[\\PCa-c\"“: -*搜索引擎のไท]{0,60}") {
        if let Ok(ask) = Ask::read(&text, NOW) {
            let parts = ask.clauses.iter().flat_map(|clause| clause.any.iter().flatten());
            for part in parts {
                if let Part::Text(_, sought) = part {
                    prop_assert!(sought.terms.first().is_some_and(|(place, _)| *place == 0));
                    prop_assert!(sought.terms.windows(2).all(|two| two[0].0 < two[1].0));
                }
            }
        }
    }

    #[test]
    fn a_quoted_run_of_characters_is_sought_by_pairs_that_say_it_all(text in "[搜索引擎图书馆の]{2,9}") {
        let ask = Ask::read(&format!("\"{text}\""), NOW).unwrap();
        let sought = ask.wanted().next().unwrap();
        let mut said = vec![' '; text.chars().count()];
        for (place, pair) in &sought.terms {
            for (at, c) in (*place as usize..).zip(pair.chars()) {
                said[at] = c;
            }
        }
        prop_assert_eq!(said.into_iter().collect::<String>(), form(&text));
    }
}
