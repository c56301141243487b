//! Cards. Input: a byte of options, a line each of title, keywords, description, name of the site and language, then blocks, one a line; the first
//! character of a block says where it stands.

use super::domain::card::{Block, Find, KEYWORDS, LONGEST_KEYWORD, Region, Said, card, letters};
use super::input::{byte, line, text};

/// The longest title, description and abstract that a card has, bytes.
const LONGEST: [usize; 3] = [512, 1_024, 1_500];

/// A card is within its bounds, and again the same.
pub fn check(data: &[u8]) {
    let (options, rest) = byte(data);
    let mut rest = rest;
    let mut next = || {
        let (line, behind) = line(rest);
        rest = behind;
        text(line).into_owned()
    };
    let [title, keywords, description, site, language] = [next(), next(), next(), next(), next()];
    let keywords: Vec<String> = keywords.split(',').map(str::to_owned).collect();
    let rest = text(rest);
    let blocks: Vec<Block> = rest.lines().map(block).filter(|block| !block.text.is_empty()).collect();
    let wanted = |nth: u8, text| Some(text).filter(|_| options & (1 << nth) == 0);
    let said = Said {
        url: "http://h.test/dir/%E7%8B%BC%E8%9B%9B.html?q",
        title: wanted(0, &*title),
        keywords: &keywords,
        description: wanted(1, &*description),
        site_name: wanted(2, &*site),
        og_description: wanted(3, &*site),
        language: wanted(4, &*language),
        blocks: &blocks,
        out_links: u32::from(options),
    };
    for find in Find::ALL {
        let made = card(&said, *find);
        assert_eq!(made, card(&said, *find));
        let texts = [made.title, made.description, made.lead];
        assert!(texts.iter().zip(LONGEST).all(|(text, most)| text.as_ref().is_none_or(|text| text.len() <= most)));
        assert!(made.keywords.len() <= KEYWORDS);
        assert!(made.keywords.iter().all(|key| !key.word.is_empty() && key.word.len() <= LONGEST_KEYWORD));
    }
}

fn block(line: &str) -> Block {
    let first = line.chars().next().map_or(0, u32::from);
    let region = [Region::Main, Region::Body, Region::Form, Region::Around][(first % 4) as usize];
    let text = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let letters = letters(&text);
    Block { letters, linked: letters * (first >> 2 & 3) / 3, heading: first & 16 != 0, region, text }
}
