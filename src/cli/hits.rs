//! Pages that were found, in lines for people.

use crate::admin::search::views::{HitView, LinksView, SearchView};
use crate::base::time::UnixMillis;
use crate::base::units::counted;
use crate::telemetry::log::escaped;
use crate::warc::date::iso;

/// The pages that match, and how far the index is.
pub(super) fn told(view: &SearchView) -> String {
    let mut text: String = view.left_out.iter().map(|left| format!("left out: {}\n", escaped(left))).collect();
    for (nth, hit) in (1..).zip(&view.hits) {
        text += &one(nth, hit);
    }
    let least = if view.partial { "at least " } else { "" };
    text += &format!("{least}{}", counted(view.total, "page"));
    if view.as_of.behind > 0 {
        text += &format!("; the index is {} behind", counted(view.as_of.behind, "entry").replace("entrys", "entries"));
    }
    text + "\n"
}

fn one(nth: usize, hit: &HitView) -> String {
    let title = hit.title.as_deref().unwrap_or("(without a title)");
    let mut text = format!("{nth:>2}. {}\n    {}\n", escaped(title), escaped(&hit.url));
    let lead = || hit.card.get("abstract").and_then(|lead| lead.as_str()).unwrap_or_default().to_owned();
    let marked = |text: &str, marked| if marked { format!("[{text}]") } else { text.to_owned() };
    let said: String = hit.snippet.iter().map(|piece| marked(&piece.text, piece.marked)).collect();
    let said = if said.is_empty() { lead() } else { said };
    if !said.is_empty() {
        text += &format!("    {}\n", escaped(&said));
    }
    let day = iso(UnixMillis(hit.captured_ms)).chars().take(10).collect::<String>();
    let language = hit.card.get("language").and_then(|language| language.as_str()).map(|l| format!(" · {l}"));
    let same = if hit.same > 0 {
        format!(" · {} with the same content", counted(hit.same.into(), "page"))
    } else {
        String::new()
    };
    let stale = if hit.stale { " · could not be fetched since" } else { "" };
    let links = format!(" · linked from {}", counted(hit.in_links, "page"));
    text += &format!("    {day}{}{links}{same}{stale}\n", language.as_deref().unwrap_or_default());
    for why in &hit.why {
        let field = why.field.as_ref().map(|field| format!(" in {field}")).unwrap_or_default();
        text += &format!("      {:>8.3} {}{field}\n", why.counts, escaped(&why.what));
    }
    if !hit.why.is_empty() {
        text += &format!("      {:>8.3} in all\n", hit.score);
    }
    text
}

/// Links of a page, or to it.
pub(super) fn links_told(view: &LinksView) -> String {
    let mut text = String::new();
    for link in &view.items {
        let said = if link.text.is_empty() { String::new() } else { format!("  \"{}\"", escaped(&link.text)) };
        let elsewhere = if link.external { "  (another site)" } else { "" };
        text += &format!("{}{said}{elsewhere}\n", escaped(&link.url));
    }
    let (total, external) = (view.total, view.external);
    text + &match view.direction.as_str() {
        "in" => format!("linked from {}, {external} of other sites\n", counted(total, "page")),
        _ => format!("links to {}, {external} of other sites\n", counted(total, "page")),
    } + &view.next.iter().map(|next| format!("more: --cursor {}\n", escaped(next))).collect::<String>()
}
