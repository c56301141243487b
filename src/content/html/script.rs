//! Whether a page shows anything without its scripts.
//!
//! It does not when it has a script and leads nowhere by itself (no `<a href>`, `<area>` or `<frame>`), and either shows fewer
//! than [`HAS_TEXT`] characters or says in a `<noscript>` that it needs JavaScript. What stands in `<noscript>` counts neither as a
//! link nor as text: it is what such pages say in place of themselves.

use super::facts::HAS_TEXT;
use super::fold::Fold;

/// Bytes of a notice that are looked at.
const NOTICE: usize = 2048;

/// How notices name what is missing: the word as it is written in most languages, its transcriptions, and the Chinese and
/// Japanese words for a script.
#[rustfmt::skip]
const NAMES: [&str; 16] = [
    "javascript", "java script", "java-script", "脚本", "腳本", "スクリプト", "자바스크립트", "джаваскрипт", "яваскрипт", "скрипт",
    "جافا سكريبت", "جافاسكريبت", "جاوا اسکریپت", "جاوااسکریپت", "जावास्क्रिप्ट", "จาวาสคริปต์",
];

/// What is seen on the way through a page.
#[derive(Debug)]
pub(super) struct Watch {
    /// There is a script.
    pub(super) script: bool,
    link: bool,
    in_noscript: bool,
    /// Characters seen, no more than [`HAS_TEXT`].
    pub(super) visible: u32,
    notice: Fold,
}

impl Default for Watch {
    fn default() -> Self {
        Self { script: false, link: false, in_noscript: false, visible: 0, notice: Fold::new(NOTICE) }
    }
}

impl Watch {
    pub(super) fn link(&mut self) {
        self.link |= !self.in_noscript;
    }

    pub(super) fn noscript(&mut self, begins: bool) {
        self.in_noscript = begins;
        self.notice.part();
    }

    /// More text would not change anything.
    pub(super) fn is_sure(&self) -> bool {
        if self.in_noscript { self.notice.full } else { self.visible >= HAS_TEXT }
    }

    /// Text that can be seen.
    pub(super) fn text(&mut self, text: &str) {
        if self.is_sure() {
            return;
        }
        if self.in_noscript {
            self.notice.push(text);
            return;
        }
        let room = (HAS_TEXT - self.visible) as usize;
        let seen = text.chars().filter(|c| !c.is_whitespace()).take(room).count();
        self.visible += u32::try_from(seen).unwrap_or(HAS_TEXT);
    }

    /// The page has ended.
    pub(super) fn needs_script(self) -> bool {
        self.script && !self.link && (self.visible < HAS_TEXT || names_script(&self.notice.finish().0))
    }
}

fn names_script(notice: &str) -> bool {
    let notice = notice.to_lowercase();
    NAMES.iter().any(|name| notice.contains(name))
}
