use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use super::*;

fn texts(text: &str, han: Han) -> Vec<&str> {
    words(text, han, 1_000).into_iter().map(|word| word.text).collect()
}

#[test]
fn words_that_people_take_for_the_same_are_the_same_when_folded() {
    for (text, folded) in [
        ("", ""),
        ("abc", "abc"),
        ("ABC", "abc"),
        ("Straße", "strasse"),
        ("STRASSE", "strasse"),
        ("GROẞ", "gross"),
        ("Ærø", "aero"),
        ("Łódź", "lodz"),
        ("façade", "facade"),
        ("fac\u{327}ade", "facade"),
        ("Việt", "viet"),
        ("İstanbul ısı", "istanbul isi"),
        ("Ἀθῆναι ΟΔΟΣ", "αθηναι οδοσ"),
        ("ёлка Йод", "елка иод"),
        ("ＡＢＣ１２３", "abc123"),
        ("ﬁn", "fin"),
        ("㈱", "(株)"),
        ("ｶﾞｷﾞ", "ガギ"),
        ("がぎ パピ", "がぎ パピ"),
        ("か\u{3099}", "が"),
        ("한글", "한글"),
        ("שָׁלוֹם", "שָׁלוֹם"),
        ("don’t", "don't"),
        ("漢字", "漢字"),
    ] {
        assert_eq!(fold(text), folded, "{text}");
    }
}

#[test]
fn words_are_told_apart() {
    use Han::{Chinese, Japanese};
    for (text, han, wanted) in [
        ("", Chinese, &[][..]),
        ("Lost in  space, at last.", Chinese, &["Lost", "in", "space", "at", "last"]),
        ("c++ C# f# node.js foo_bar g++, x+y", Chinese, &["c++", "C#", "f#", "node.js", "foo_bar", "g++", "x", "y"]),
        ("C++11 issue#5 a##", Chinese, &["C", "11", "issue", "5", "a"]),
        ("l'eau, qu’une Ada's o'clock", Chinese, &["eau", "une", "Ada", "o'clock"]),
        ("3.5 1,000 état", Chinese, &["3.5", "1,000", "état"]),
        ("我爱Rust编程语言。", Chinese, &["我", "爱", "Rust", "编程语言"]),
        ("全文検索エンジンの仕組み", Japanese, &["全文検索", "エンジン", "の", "仕組", "み"]),
        ("人々は", Japanese, &["人々", "は"]),
        ("…!?🙂", Chinese, &[]),
    ] {
        assert_eq!(texts(text, han), wanted, "{text}");
    }
}

#[test]
fn what_stands_between_words_is_told() {
    let joints: Vec<_> =
        words("a b-c, d—e人f \u{3000}g", Han::Japanese, 99).into_iter().map(|word| word.joint).collect();
    use Joint::{Apart, None, Space};
    assert_eq!(joints, [Apart, Space, Space, Apart, Apart, None, None, Space]);
}

#[test]
fn words_know_their_place_and_are_no_more_than_asked_for() {
    let text = "我们 l'eau c++，机器学习";
    for word in words(text, Han::Chinese, 99) {
        assert_eq!(&text[word.start..word.start + word.text.len()], word.text);
    }
    assert_eq!(words(text, Han::Chinese, 2).len(), 2);
    assert_eq!(words(&"中".repeat(5_000), Han::Chinese, 7).len(), 7);
}

#[test]
fn words_that_say_nothing_are_known_by_language() {
    for (word, language, stops) in [
        ("the", "en", true),
        ("using", "en", true),
        ("system", "en", false),
        ("der", "de", true),
        ("fur", "de", true),
        ("og", "nb", true),
        ("我们", "zh", true),
        ("我們", "zh", true),
        ("安全", "zh", false),
        ("という", "ja", true),
        ("カタカナ", "ja", false),
    ] {
        assert_eq!(Stops::of(language).unwrap().holds(word), stops, "{word} {language}");
    }
    assert!(Stops::of("no such language").is_none());
    assert!(says_nothing("ひらがな") && says_nothing("https") && !says_nothing("カタカナ") && !says_nothing("x"));
    assert!(is_number("12,000.5") && is_number("３") && !is_number("5G"));
}

#[test]
fn a_declared_language_holds_unless_the_text_is_surely_in_another() {
    let english = "The wolf spider does not spin a web to catch its prey. It runs after it, or waits for it near its burrow. \
                   Its eyes are large, and it sees well by night. Females carry their eggs with them in a ball of silk. "
        .repeat(2);
    let german = "Die Wolfspinne baut kein Netz, um ihre Beute zu fangen. Sie läuft ihr nach oder wartet auf sie vor ihrer Höhle. \
                  Ihre Augen sind groß, und sie sieht auch in der Nacht gut. Die Weibchen tragen ihre Eier mit sich herum. ";
    let chinese =
        "狼蛛不结网捕食，而是追逐猎物，或者在洞口等待猎物。它的眼睛很大，夜间视力很好。雌蛛把卵袋带在身上。".repeat(6);
    for (text, declared, language) in [
        (english.as_str(), Some("en-GB"), Some("en")),
        (&english, Some("zh-CN"), Some("en")),
        (&english, None, Some("en")),
        (&english, Some("gd"), Some("gd")),
        (german, Some("DE_at"), Some("de")),
        (german, Some("deu"), Some("de")),
        (&chinese, Some("cn"), Some("zh")),
        (&chinese, Some("zh-Hant-TW"), Some("zh")),
        (&chinese, Some("en"), Some("zh")),
        ("狼蛛", Some("en"), Some("en")),
        ("狼蛛不结网捕食，而是追逐猎物，或者在洞口等待。", Some("en"), Some("zh")),
        ("狼蛛不结网捕食，而是追逐猎物，或者在洞口等待。", Some("ja"), Some("ja")),
        ("これはクモの種類です。", None, Some("ja")),
        ("systemd环境下，可以用networkd来配置网络。", None, Some("zh")),
        ("The word for spider is 蜘蛛, as everybody knows.", None, Some("en")),
        ("", Some("fr"), Some("fr")),
        ("", Some("x-klingon"), None),
        ("12 34", None, None),
    ] {
        assert_eq!(super::language(text, declared).as_deref(), language, "{declared:?}: {text:.30}");
    }
}

#[test]
fn a_language_has_three_letters_as_iso_639_3_names_it() {
    // https://iso639-3.sil.org/code_tables/639/data
    for (short, long) in [("en", "eng"), ("zh", "zho"), ("fa", "fas"), ("ja", "jpn"), ("yue", "yue"), ("xx", "xx")] {
        assert_eq!(three_letters(short), long);
    }
}

#[test]
fn a_rare_word_weighs_more_than_a_common_one() {
    assert!(rarity("搜索引擎") > rarity("网络"));
    assert!(rarity("网络") > rarity("的"));
    assert_eq!(rarity("蛛形纲狼蛛科"), 14.0);
}

#[test]
fn a_long_run_is_cut_in_linear_work() {
    let long = "中华人民共和国".repeat(100_000);
    assert_eq!(words(&long, Han::Chinese, usize::MAX).iter().map(|word| word.text.len()).sum::<usize>(), long.len());
}

#[test]
fn what_is_found_in_a_form_is_marked_as_it_was_written() {
    for (text, found, written) in [
        ("Die STRASSE", "strasse", "STRASSE"),
        ("Die Straße hier", "strasse", "Straße"),
        ("圖書館", "图书", "圖書"),
        ("e\u{301}tat Ｆull", "full", "Ｆull"),
        ("Sil\u{ad}ben", "silben", "Sil\u{ad}ben"),
        ("㈱", "株", "㈱"),
    ] {
        let mapped = Mapped::of(text);
        assert_eq!(mapped.text, form(text), "{text}");
        let start = mapped.text.find(found).unwrap();
        assert_eq!(&text[mapped.written(start, start + found.len())], written, "{text}");
    }
}

/// The tokens of a text that is not in its form yet.
fn placed(text: &str) -> Vec<(String, u32, Kind)> {
    let mut found = Vec::new();
    tokens(&form(text), 0, |token| {
        found.push((token.text.to_owned(), token.place, token.kind));
        true
    });
    found
}

#[test]
fn tokens_are_those_of_the_table() {
    let table = include_str!("../../../tests/data/tokens.txt");
    let count = crate::domain::cases::check(table, |[text]| {
        let shown = placed(text).into_iter().map(|(text, place, kind)| match kind {
            Kind::Whole => format!("={text}@{place}"),
            Kind::Last => format!("{text}*@{place}"),
            Kind::Word | Kind::Pair => format!("{text}@{place}"),
        });
        [shown.collect::<Vec<_>>().join(" ")]
    });
    assert!(count > 25);
}

#[test]
fn a_token_that_is_too_long_leaves_its_place_empty() {
    let long = "x".repeat(LONGEST_TOKEN + 1);
    let texts: Vec<_> = placed(&format!("a {long} b")).into_iter().map(|(text, place, _)| (text, place)).collect();
    assert_eq!(texts, [("a".into(), 0), ("b".into(), 2)]);
}

#[test]
fn tokens_end_where_they_are_told_to() {
    for text in ["a b c d", "état b c d", "中文分词", "a.b.c.d"] {
        let mut count = 0;
        tokens(text, 0, |_| {
            count += 1;
            count < 2
        });
        assert_eq!(count, 2, "{text}");
    }
}

#[test]
fn words_for_ranking_are_those_of_jieba_and_what_stands_by_itself() {
    let mut found = Vec::new();
    ranked(&form("在圖書館用搜索引擎 Rust 検索エンジン 한국어 ไทย"), |word| {
        found.push(word.to_owned())
    });
    assert_eq!(found, ["在", "图书馆", "用", "搜索引擎", "检索", "エンジン", "한국어"]);
}

#[test]
fn words_lose_the_endings_of_their_language() {
    for (language, word, bare) in [
        ("en", "spiders", "spider"),
        ("en", "spider", "spider"),
        ("de", "netze", "netz"),
        ("fr", "araignees", "araigne"),
        ("ru", "пауки", "паук"),
        ("nb", "edderkoppene", "edderkopp"),
    ] {
        assert_eq!(Stem::of(language).unwrap().bare(word), bare, "{language}");
    }
    let norwegian = Stem::of("nn").unwrap();
    assert_eq!(norwegian.term("nett"), "no:nett");
    assert!(Stem::of("zh").is_none());
}

#[test]
fn a_tag_has_its_language_and_what_else_it_says_and_is_found_by_each_part() {
    for (text, expected, found_by) in [
        ("zh-Hant_TW", Some("zh-hant-tw"), &["zh", "zh-hant", "zh-tw"][..]),
        ("pt-BR", Some("pt-br"), &["pt", "pt-br"]),
        ("EN", Some("en"), &["en"]),
        ("eng-US; q=1", Some("en-us"), &["en", "en-us"]),
        ("de-x-private", Some("de"), &["de"]),
        ("zh-", Some("zh"), &["zh"]),
        ("und", None, &[]),
        ("-TW", None, &[]),
    ] {
        let found = tag(text);
        assert_eq!(found.as_deref(), expected, "{text}");
        assert_eq!(found.iter().flat_map(|tag| ranges(tag)).collect::<Vec<_>>(), found_by, "{text}");
    }
}

#[test]
fn ways_of_writing_a_name_have_one_form() {
    for (written, usual) in [
        ("髙橋", "高橋"),
        ("﨑", "崎"),
        ("嵜", "崎"),
        ("桒", "桑"),
        ("栁", "柳"),
        ("冨", "富"),
        ("濵", "濱"),
        ("邉", "邊"),
        ("邉", "辺"),
        ("渕", "淵"),
        ("逹", "達"),
        ("槗", "橋"),
        ("𣘺", "橋"),
        ("𠮷", "吉"),
    ] {
        assert_eq!(form(written), form(usual), "{written} {usual}");
    }
    assert_ne!(form("斎"), form("斉"), "two words");
}

proptest! {
    #[test]
    fn a_form_stays_what_it_is(text in "[\\PC圖図e\u{301}\u{ad}\u{200d}]{0,40}") {
        let once = form(&text).into_owned();
        prop_assert_eq!(form(&once), once.as_str());
    }

    #[test]
    fn ascii_is_parted_as_all_else_is(text in "[ab1 _.,:;'+#@-]{0,24}") {
        let with = format!("{text} é");
        let mut slow = placed(&with);
        slow.pop();
        prop_assert_eq!(placed(&text), slow);
    }

    #[test]
    fn tokens_lie_in_order_and_within_the_text(text in "[\\PCa-z#+'’中文のア漢ไท한 _.]{0,60}") {
        let text = form(&text);
        let mut before = 0;
        let end = tokens(&text, 7, |token| {
            assert!(text.get(token.start..token.end).is_some_and(|piece| piece.replace(' ', "") == token.text));
            assert!(token.place >= 7 && (token.place >= before || token.kind == Kind::Whole));
            before = token.place;
            true
        });
        prop_assert!(end >= before);
    }

    #[test]
    fn every_stemmer_bears_every_word(word in "[\\PCaeiouçğşıßабвгءآαβγ]{0,30}") {
        for language in ["ar", "da", "de", "el", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pl", "pt", "ro", "ru", "sv", "tr"] {
            Stem::of(language).unwrap().bare(&form(&word));
        }
    }

    #[test]
    fn folding_twice_is_folding_once(text in "\\PC{0,40}") {
        let once = fold(&text).into_owned();
        prop_assert_eq!(fold(&once), once.as_str());
    }

    #[test]
    fn words_lie_in_order_and_hold_letters(text in "[\\PCa-z#+'’中文のア漢 ]{0,60}") {
        for han in [Han::Chinese, Han::Japanese] {
            let mut end = 0;
            for word in words(&text, han, 1_000) {
                prop_assert!(word.start >= end && !word.text.is_empty());
                prop_assert_eq!(text.get(word.start..word.start + word.text.len()), Some(word.text));
                end = word.start + word.text.len();
            }
        }
    }
}

proptest! {
    #[test]
    fn words_of_ascii_are_those_of_the_long_way(text in "[a-zA-Z0-9 .,:;'_+#\\-\n(]{0,40}") {
        // One letter beyond ASCII and no space that ends a stretch, and all of the text goes the long way.
        let (short, long) = (format!("{text}\n"), format!("{}\nß", text.replace(' ', "\n")));
        let mut expected = words(&long, Han::Chinese, 100);
        prop_assert_eq!(expected.pop().map(|word| word.text), Some("ß"));
        prop_assert_eq!(words(&short, Han::Chinese, 100), expected);
    }
}

proptest! {
    /// Stretches of ASCII and of others end where no word goes on.
    #[test]
    fn words_are_those_of_uax_29_wherever_curly_quotes_and_marks_stand(text in "[a-c’'“é .,:_\u{301}0-2]{0,40}") {
        let part = |c: char| c.is_alphanumeric() || c == '\u{301}';
        let mut wanted = Vec::new();
        for (start, piece) in text.split_word_bound_indices() {
            let runs = piece.split(|c| !part(c)).filter(|run| !run.is_empty());
            wanted.extend(runs.map(|run| start + run.as_ptr() as usize - piece.as_ptr() as usize));
        }
        let mut found = Vec::new();
        tokens(&text, 0, |token| {
            found.extend((token.kind == Kind::Word).then_some(token.start));
            true
        });
        prop_assert_eq!(found, wanted);
    }
}
