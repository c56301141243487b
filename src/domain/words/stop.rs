//! Words that say nothing by themselves: the lists of NLTK, and of `stopwords-iso` for languages that NLTK has none of (crate
//! `stop-words`). English ones stop everywhere: no web page is free of them.

use std::collections::HashSet;
use std::sync::{LazyLock, OnceLock};

use super::fold::fold;

type Set = HashSet<Box<str>>;

/// By the place of their language in [`stop_words::available_languages`]; folded when the language first comes.
static SETS: LazyLock<Box<[OnceLock<Set>]>> =
    LazyLock::new(|| stop_words::available_languages().iter().map(|_| OnceLock::new()).collect());

/// Words of the Chinese list that pages are about.
#[rustfmt::skip]
const SAY_SOMETHING: &[&str] = &[
    "安全", "应用", "移动", "现代", "问题", "战斗", "练习", "行动", "行为", "规定", "限制", "任务", "处理", "防止", "总结", "运用", "联系",
    "结合", "复杂", "范围", "帮助", "欢迎", "专门", "基本",
];

/// What the Chinese list, in simplified characters, lacks of texts in traditional ones.
#[rustfmt::skip]
const TRADITIONAL: &[&str] = &[
    "一個", "一樣", "一邊", "什麼", "為什麼", "這個", "這些", "這樣", "這裡", "這裏", "這是", "這種", "這麼", "這次", "那個", "那麼", "那樣", "那裡",
    "那邊", "我們", "你們", "您們", "他們", "她們", "它們", "咱們", "人們", "自己", "還是", "還有", "還要", "還", "沒有", "沒", "個", "來", "來自",
    "對", "對於", "對方", "從", "從而", "從此", "後", "然後", "之後", "以後", "最後", "後來", "為", "為了", "因為", "以為", "認為", "並", "並且", "並不",
    "並非", "與", "與其", "於", "於是", "關於", "由於", "至於", "終於", "將", "會", "說", "說明", "時", "時候", "當時", "同時", "有時", "裡", "裏", "裡面",
    "過", "不過", "通過", "經過", "經", "讓", "給", "許多", "應該", "應當", "可見", "無論", "雖然", "儘管", "開始", "進行", "或許", "請",
];

/// What addresses are made of.
const OF_ADDRESSES: &[&str] = &["http", "https", "www", "html", "htm", "com"];

/// Whether a folded word says nothing in this language (ISO 639-1), or in English. A word of hiragana alone is mostly an ending.
pub fn is_stop(folded: &str, language: Option<&str>) -> bool {
    let in_list = |language| set(language).is_some_and(|set| set.contains(folded));
    in_list("en")
        || language.is_some_and(in_list)
        || OF_ADDRESSES.contains(&folded)
        || folded.chars().all(|c| matches!(c, '\u{3041}'..='\u{309f}' | 'ー'))
}

/// Digits, and what stands between them: `2024`, `1.5`, `12,000`.
pub fn is_number(word: &str) -> bool {
    !word.contains(char::is_alphabetic)
}

fn set(language: &str) -> Option<&'static Set> {
    // Norwegian has one list.
    let language = if matches!(language, "nb" | "nn") { "no" } else { language };
    let at = stop_words::available_languages().binary_search(&language).ok()?;
    let made = || {
        let more: &[&str] = if language == "zh" { TRADITIONAL } else { &[] };
        let list = stop_words::lookup(language).unwrap_or_default().iter().chain(more);
        list.filter(|word| language != "zh" || !SAY_SOMETHING.contains(word)).map(|word| fold(word).into()).collect()
    };
    Some(SETS.get(at)?.get_or_init(made))
}
