//! Words that say nothing by themselves: the lists of NLTK, and of `stopwords-iso` for languages that NLTK has none of (crate
//! `stop-words`).

use std::collections::HashSet;
use std::sync::{LazyLock, OnceLock};

use foldhash::fast::RandomState;

use super::fold::fold;

type Set = HashSet<Box<str>, RandomState>;

/// By the place of their language in [`stop_words::available_languages`]; folded when the language first comes.
static SETS: LazyLock<Box<[OnceLock<Set>]>> =
    LazyLock::new(|| stop_words::available_languages().iter().map(|_| OnceLock::new()).collect());

/// Words of the Chinese list that pages are about.
#[rustfmt::skip]
const SAY_SOMETHING: &[&str] = &[
    "安全", "应用", "移动", "现代", "问题", "战斗", "练习", "行动", "行为", "规定", "限制", "任务", "处理", "防止",
    "总结", "运用", "联系", "结合", "复杂", "范围", "帮助", "欢迎", "专门", "基本",
];

/// What the Chinese list, in simplified characters, lacks: words of everyday use, and those of texts in traditional characters.
#[rustfmt::skip]
const CHINESE: &[&str] = &[
    "一个", "一种", "一类", "一只", "一位", "一名", "一项", "有人", "不用", "不会", "这是", "这次", "来自", "没",
    "不", "会", "说", "时", "来", "去", "做", "还", "都", "很", "更", "最", "再", "才", "上", "下", "中", "里", "内",
    "后", "前", "两", "几", "请", "一個", "一種", "一類", "一隻", "一項", "一樣", "一邊", "什麼", "為什麼", "這個",
    "這些", "這樣", "這裡", "這裏", "這是", "這種", "這麼", "這次", "那個", "那麼", "那樣", "那裡", "那邊", "我們",
    "你們", "您們", "他們", "她們", "它們", "咱們", "人們", "還是", "還有", "還要", "還", "沒有", "沒", "不會", "個",
    "來", "來自", "對", "對於", "對方", "從", "從而", "從此", "後", "然後", "之後", "以後", "最後", "後來", "為",
    "為了", "因為", "以為", "認為", "並", "並且", "並不", "並非", "與", "與其", "於", "於是", "關於", "由於", "至於",
    "終於", "將", "會", "說", "說明", "時", "時候", "當時", "同時", "有時", "裡", "裏", "裡面", "過", "不過", "通過",
    "經過", "經", "讓", "給", "許多", "應該", "應當", "可見", "無論", "雖然", "儘管", "開始", "進行", "或許", "請",
];

/// What the English list lacks: it is made for sentences, not for web pages.
#[rustfmt::skip]
const ENGLISH: &[&str] = &[
    "according", "across", "along", "already", "also", "although", "always", "among", "another", "anyone", "anything",
    "around", "away", "based", "became", "become", "behind", "beside", "besides", "beyond", "cannot", "could",
    "despite", "either", "else", "enough", "etc", "even", "ever", "every", "everyone", "everything", "get", "gets",
    "got", "however", "instead", "last", "later", "least", "less", "like", "made", "make", "makes", "making", "many",
    "may", "maybe", "might", "much", "must", "near", "need", "needs", "neither", "never", "next", "nothing", "often",
    "one", "onto", "otherwise", "per", "perhaps", "quite", "rather", "really", "said", "say", "says", "see", "seen",
    "several", "shall", "since", "someone", "something", "sometimes", "soon", "still", "take", "taken", "takes",
    "therefore", "though", "thus", "together", "towards", "two", "unless", "unlike", "upon", "us", "use", "used",
    "uses", "using", "usually", "various", "via", "well", "whenever", "whereas", "whether", "within", "without",
    "would", "yet",
];

/// What addresses are made of.
const OF_ADDRESSES: &[&str] = &["http", "https", "www", "html", "htm", "com"];

/// Whether a folded word says nothing in any language: of an address, or of hiragana alone, which are mostly endings.
pub fn says_nothing(folded: &str) -> bool {
    OF_ADDRESSES.contains(&folded) || folded.chars().all(|c| matches!(c, '\u{3041}'..='\u{309f}' | 'ー'))
}

/// The words of a language that say nothing.
#[derive(Clone, Copy, Debug)]
pub struct Stops(&'static Set);

impl Stops {
    /// Of this language (ISO 639-1), if there is a list.
    pub fn of(language: &str) -> Option<Self> {
        // Norwegian has one list.
        let language = if matches!(language, "nb" | "nn") { "no" } else { language };
        let at = stop_words::available_languages().binary_search(&language).ok()?;
        let more = match language {
            "zh" => CHINESE,
            "en" => ENGLISH,
            _ => &[],
        };
        let made = || {
            let list = stop_words::lookup(language).unwrap_or_default().iter().chain(more);
            list.filter(|word| !SAY_SOMETHING.contains(word)).map(|word| fold(word).into()).collect()
        };
        Some(Self(SETS.get(at)?.get_or_init(made)))
    }

    /// Whether a folded word is one.
    pub fn holds(self, folded: &str) -> bool {
        self.0.contains(folded)
    }
}

/// Digits, and what stands between them: `2024`, `1.5`, `12,000`.
pub fn is_number(word: &str) -> bool {
    !word.contains(char::is_alphabetic)
}
