//! `lycosa search …`: the pages of a data folder at rest.

use std::io::Write;
use std::time::{Duration, Instant};

use super::args::SearchArgs;
use super::exit::{CliError, Exit, unless_gone};
use super::hits;
use super::index::AtRest;
use crate::admin::search::answer::{Asking, NoAnswer, Question};
use crate::base::clock::Clock;
use crate::crawl::orders::Orders;
use crate::crawl::rules::Rules;
use crate::domain::fingerprint::CrawlId;
use crate::index::Sort;

/// From when on what follows has no snippets any more.
const PATIENCE: Duration = Duration::from_secs(2);

/// Carries it out.
///
/// # Errors
/// Bad arguments, a folder in use, one without an index (exit code 2), a disk that cannot be read (3).
pub fn run(args: &SearchArgs, out: &mut dyn Write) -> Result<Exit, CliError> {
    let names = || Sort::ALL.iter().map(|sort| sort.as_str()).collect::<Vec<_>>().join(", ");
    let unknown = || CliError::usage(format!("--sort {}: expected one of {}", args.wanted.sort, names()));
    let sort = Sort::named(&args.wanted.sort).ok_or_else(unknown)?;
    let settings = args.at_rest.load()?;
    let at_rest = AtRest::open(Rules::new(settings, String::new()), "ask it with `lycosa ctl search`")?;
    let (_, reader) = at_rest.answering()?.ok_or_else(|| {
        let dir = at_rest.rules.settings.store.data_dir.display();
        CliError::usage(format!("{dir} has no index; `lycosa index build --data {dir}` makes one"))
    })?;
    if !at_rest.is_of_this_crawl(&reader)? {
        return Err(CliError::usage(format!("the index {}", at_rest.other(&reader)?)));
    }
    let orders = Orders::load(&at_rest.storage, CrawlId::default(), &at_rest.prints).map_err(super::check::refused)?;
    let blocked = orders.all().into_iter().filter(|(_, orders)| orders.blocked.is_some());
    let (begun, text) = (Instant::now(), args.wanted.text());
    let view = at_rest.with(|source| {
        let asking = Asking {
            reader: &reader,
            source,
            crawl: CrawlId::default(),
            hidden: blocked.map(|(host, _)| host.to_string()).collect(),
            high: at_rest.high,
            took: &|| begun.elapsed(),
            patience: PATIENCE,
        };
        let (now, limit) = (Clock::real().date(), usize::from(args.wanted.limit));
        Ok(asking.search(&Question { text: &text, now, sort, from: 0, limit, explain: args.wanted.explain }))
    })?;
    let view = view.map_err(|error| match error {
        NoAnswer::Index(e) => super::index::unread(e),
        e => CliError::usage(e.to_string()),
    })?;
    let text = if args.at_rest.json { format!("{}\n", serde_json::json!(view)) } else { hits::told(&view) };
    unless_gone(out.write_all(text.as_bytes()))?;
    Ok(Exit::Done)
}
