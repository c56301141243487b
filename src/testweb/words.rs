//! Words: the filler text of pages, in English and in Chinese, and the Chinese words in links.

use std::borrow::Cow;
use std::sync::LazyLock;

use percent_encoding::{NON_ALPHANUMERIC, percent_encode};

use super::dice::{Dice, Salt, below, pick};

/// `/词/`, percent-encoded UTF-8 as a URL has it.
pub const PATH: &str = "/%E8%AF%8D/";
/// The same as written in a page.
pub const PATH_WRITTEN: &str = "/词/";

const CHINESE: [&str; 40] = [
    "网络", "中国", "文化", "历史", "我们", "他们", "大学", "研究", "科学", "技术", "经济", "社会", "发展", "问题",
    "时间", "工作", "学生", "教育", "城市", "国家", "世界", "人民", "音乐", "电影", "新闻", "图书", "语言", "天气",
    "旅游", "健康", "食品", "公司", "市场", "产品", "信息", "数据", "系统", "方法", "环境", "生活",
];

const ENGLISH: &str = "\
    the of and a to in is it that was for on are with as at be this from have or by one had not but what \
    all were when we there can an water stone river mountain garden letter window morning evening summer \
    winter harbour island village market bridge forest engine number measure question answer history \
    science teacher student library journal picture machine country language weather kitchen bottle \
    carpet copper silver yellow purple narrow gentle sudden common distant ordinary careful walked \
    carried followed answered between through against without together perhaps always seldom nearly \
    already afterwards";

/// An English word for each number.
pub fn english(number: u64) -> &'static str {
    ENGLISH.split(' ').nth(number as usize % ENGLISH.split(' ').count()).unwrap_or("the")
}

/// How a page is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// UTF-8, English text.
    Utf8,
    /// GBK, Chinese text.
    Gbk,
    /// UTF-8, Chinese text.
    Chinese,
}

impl Charset {
    /// Whether the text is Chinese.
    pub fn is_chinese(self) -> bool {
        self != Self::Utf8
    }
}

const POOL: usize = 64 * 1024;

struct Pools {
    english: Vec<u8>,
    gbk: Vec<u8>,
    chinese: Vec<u8>,
}

static POOLS: LazyLock<Pools> = LazyLock::new(|| {
    let dice = Dice::new(0);
    let words: Vec<&str> = ENGLISH.split(' ').collect();
    let mut english = Vec::with_capacity(POOL + 64);
    let mut gbk = Vec::with_capacity(POOL + 64);
    for index in 0.. {
        let draw = dice.draw(Salt::Text, 0, 0, index);
        if english.len() < POOL {
            english.extend_from_slice(pick(draw, &words, "the").as_bytes());
            english.extend_from_slice(if index % 11 == 10 { b". " } else { b" " });
        }
        if gbk.len() < POOL {
            gbk.extend_from_slice(&to_gbk(pick(draw, &CHINESE, "网络")));
            if index % 9 == 8 {
                gbk.extend_from_slice(&to_gbk("，"));
            }
        }
        if english.len() >= POOL && gbk.len() >= POOL {
            break;
        }
    }
    let chinese = encoding_rs::GBK.decode(&gbk).0.into_owned().into_bytes();
    Pools { english, gbk, chinese }
});

fn to_gbk(text: &str) -> Cow<'_, [u8]> {
    encoding_rs::GBK.encode(text).0
}

/// Appends about `length` bytes of text, whole words only; `draw` says which.
pub fn fill(out: &mut Vec<u8>, charset: Charset, length: usize, draw: u64) {
    let pool = match charset {
        Charset::Utf8 => POOLS.english.as_slice(),
        Charset::Gbk => POOLS.gbk.as_slice(),
        Charset::Chinese => POOLS.chinese.as_slice(),
    };
    let mut left = length;
    let mut start = below(draw, pool.len() as u32) as usize;
    while left > 0 {
        let piece = whole_words(pool, charset, start, left);
        if piece.is_empty() && start == 0 {
            break; // less room than a word needs
        }
        out.extend_from_slice(piece);
        left = left.saturating_sub(piece.len());
        start = 0;
    }
}

/// At most `length` bytes of the pool from `start` on, cut at borders of characters and words.
fn whole_words(pool: &[u8], charset: Charset, start: usize, length: usize) -> &[u8] {
    let (from, to) = match charset {
        // All characters of these pools have two bytes, and three.
        Charset::Gbk => (start & !1, start.saturating_add(length) & !1),
        Charset::Chinese => (start / 3 * 3, start.saturating_add(length) / 3 * 3),
        Charset::Utf8 => {
            let from = if start == 0 { 0 } else { next_space(pool, start) };
            (from, next_space(pool, start.saturating_add(length)))
        }
    };
    pool.get(from..to.min(pool.len())).unwrap_or_default()
}

fn next_space(pool: &[u8], from: usize) -> usize {
    let rest = pool.get(from..).unwrap_or_default();
    memchr::memchr(b' ', rest).map_or(pool.len(), |at| from + at + 1)
}

/// The Chinese word of a number.
pub fn chinese(number: u32) -> &'static str {
    CHINESE.get(number as usize % CHINESE.len()).copied().unwrap_or("网络")
}

/// The Chinese word of a number as a URL's query has it.
pub fn encoded(number: u32, gbk: bool) -> &'static str {
    static ALL: LazyLock<Vec<[String; 2]>> = LazyLock::new(|| {
        // ASCII letters and digits stay, as in a query of the WHATWG URL standard: a byte of GBK may be one.
        let percent = |bytes: &[u8]| percent_encode(bytes, NON_ALPHANUMERIC).to_string();
        let encode = |word: &&str| [percent(word.as_bytes()), percent(&to_gbk(word))];
        CHINESE.iter().map(encode).collect()
    });
    ALL.get(number as usize % CHINESE.len()).map_or("", |[utf8, other]| if gbk { other } else { utf8 })
}

/// Appends text in the page's charset.
pub fn write(out: &mut Vec<u8>, charset: Charset, text: &str) {
    match charset {
        Charset::Utf8 | Charset::Chinese => out.extend_from_slice(text.as_bytes()),
        Charset::Gbk => out.extend_from_slice(&to_gbk(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_about_the_length_asked_for_and_whole_words() {
        for (length, draw) in [(0, 0), (1, 9), (500, u64::MAX), (500, 1 << 63), (200_000, 12_345 << 40)] {
            let mut english = b"the ".to_vec();
            fill(&mut english, Charset::Utf8, length, draw);
            let size = english.len() - 4;
            assert!(size <= length + 16 && size + 16 >= length, "{size} for {length}");
            let words = str::from_utf8(&english).unwrap().split_whitespace().map(|word| word.trim_end_matches('.'));
            words.for_each(|word| assert!(ENGLISH.split(' ').any(|known| known == word), "{word}"));
            let mut chinese = Vec::new();
            fill(&mut chinese, Charset::Gbk, length, draw);
            assert!(chinese.len() <= length && chinese.len() + 4 >= length);
            assert!(!encoding_rs::GBK.decode(&chinese).2);
            let mut chinese = Vec::new();
            fill(&mut chinese, Charset::Chinese, length, draw);
            assert!(chinese.len() <= length && chinese.len() + 6 >= length);
            assert!(str::from_utf8(&chinese).is_ok());
        }
    }

    #[test]
    fn a_word_in_a_query_is_encoded_as_url_does_it() {
        for number in 0..CHINESE.len() as u32 {
            for (gbk, encoding) in [(false, encoding_rs::UTF_8), (true, encoding_rs::GBK)] {
                let encode = |text: &str| encoding.encode(text).0.into_owned();
                let mut url = url::Url::parse("http://h0.test/").unwrap();
                url.query_pairs_mut()
                    .encoding_override(Some(&|text| encode(text).into()))
                    .append_key_only(chinese(number));
                // Form encoding leaves `*-._` and space apart, none of which occur here.
                assert_eq!(url.query().unwrap(), encoded(number, gbk));
            }
        }
    }
}
