//! What is not the same though the page is: noise in each answer, and pages that are nearly as another.

use super::dice::{Salt, below, mix, pick};
use super::shape::{Class, Shape};
use super::words::{self, Charset};
use crate::base::kinds::kinds;

kinds! {
    /// What a page has anew in each answer.
    Noise {
        /// The time, and how often pages were read.
        Clock = "clock",
        /// A token that nobody sees.
        Token = "token",
        /// A word that is recommended.
        Box = "box",
    }
}

kinds! {
    /// How a page is nearly as another.
    Near {
        /// Its print version: a line more.
        Print = "print",
        /// Edited: a word more.
        Edited = "edited",
        /// Of one template: the text of one of the host's first pages, under a title of its own.
        Frame = "frame",
    }
}

/// The first pages of a host, which frames have the text of.
const TEMPLATES: u32 = 4;

impl Shape {
    /// What a content has anew in each answer.
    pub fn noise(&self, host: u32, content: u32) -> Option<Noise> {
        let noisy = self.hit(self.config.noise, Salt::Noise, host, content);
        noisy.then(|| pick(self.dice.draw(Salt::Noise, host, content, 1), Noise::ALL, Noise::Clock))
    }

    /// The page that a page is nearly as, and how; `None` for an ordinary one.
    pub fn near_to(&self, host: u32, number: u32) -> Option<(u32, Near)> {
        if self.class(host, number) != Class::Near {
            return None;
        }
        let near = pick(self.dice.draw(Salt::Near, host, number, 0), Near::ALL, Near::Print);
        let of = match near {
            Near::Print | Near::Edited => self.duplicate_of(host, number),
            Near::Frame => {
                let first = 1 + below(self.dice.draw(Salt::Near, host, number, 1), TEMPLATES);
                let mut pages = (first..self.config.pages).take(self.config.pages as usize);
                pages.find(|of| self.class(host, *of) == Class::Plain).unwrap_or(number)
            }
        };
        (of != number).then_some((of, near))
    }

    /// Makes of the body of `content` that of a page which is nearly as it.
    pub(super) fn make_near(&self, host: u32, content: u32, (number, near): (u32, Near), payload: &mut Vec<u8>) {
        let charset = self.charset(host, content);
        let draw = self.dice.draw(Salt::Near, host, number, 2);
        let (english, chinese) = (words::english(draw), words::chinese(draw as u32));
        match (near, charset.is_chinese()) {
            (Near::Print, false) => insert(payload, charset, "<p>Print version</p>"),
            (Near::Print, true) => insert(payload, charset, "<p>打印版本</p>"),
            (Near::Edited, false) => insert(payload, charset, &format!("<b>{english}</b>")),
            (Near::Edited, true) => insert(payload, charset, &format!("<b>{chinese}</b>")),
            (Near::Frame, _) => {
                let [from, to] = [content, number].map(|number| format!("Page {number} of h{host}.test"));
                replace(payload, from.as_bytes(), to.as_bytes());
            }
        }
    }

    /// Puts into a body what is another in each answer: at this moment, in answer `nth`.
    pub(super) fn make_noise(&self, host: u32, content: u32, nth: u64, payload: &mut Vec<u8>) {
        let Some(noise) = self.noise(host, content) else { return };
        let charset = self.charset(host, content);
        let text = match (noise, charset.is_chinese()) {
            (Noise::Clock, false) => {
                format!("<p>It is {}, pages were read {nth} times.</p>", self.clock("%Y-%m-%d %H:%M:%S"))
            }
            (Noise::Clock, true) => format!("<p>现在是{}，已读{nth}次。</p>", self.clock("%Y年%m月%d日%H时%M分%S秒")),
            (Noise::Token, _) => {
                let token = mix(nth ^ self.at_us.rotate_left(20));
                format!("<!-- made at {} --><input type=\"hidden\" name=\"token\" value=\"{token:016x}\">", self.at_us)
            }
            (Noise::Box, false) => format!("<aside>Read this: {}</aside>", words::english(nth)),
            (Noise::Box, true) => format!("<aside>推荐：{}</aside>", words::chinese(nth as u32)),
        };
        insert(payload, charset, &text);
    }

    fn clock(&self, form: &str) -> String {
        let at = i64::try_from(self.at_us).ok().and_then(chrono::DateTime::from_timestamp_micros);
        at.map_or_else(String::new, |at| at.format(form).to_string())
    }
}

/// Puts HTML behind the heading of a page.
fn insert(payload: &mut Vec<u8>, charset: Charset, html: &str) {
    const END: &[u8] = b"</h1>";
    let Some(at) = memchr::memmem::find(payload, END) else { return };
    let mut bytes = Vec::with_capacity(html.len());
    words::write(&mut bytes, charset, html);
    let at = at + END.len();
    payload.splice(at..at, bytes);
}

fn replace(payload: &mut Vec<u8>, from: &[u8], to: &[u8]) {
    let places: Vec<usize> = memchr::memmem::find_iter(payload, from).collect();
    for at in places.into_iter().rev() {
        payload.splice(at..at + from.len(), to.iter().copied());
    }
}
