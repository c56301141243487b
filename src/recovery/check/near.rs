//! Near-duplicates: the rows of leaders and members are those that the newest captures call for.

use super::pass::Pass;
use super::stream::{Row, each_chunk};
use super::{Fault, Result};
use crate::domain::fingerprint::CrawlId;
use crate::domain::near::Near;
use crate::domain::note::Note;
use crate::storage::error::hex;
use crate::storage::keys::SeenKey;
use crate::storage::ledger::NearPlace;
use crate::storage::read;
use crate::storage::tables::{Near as NearRows, NearMembers, Pages, Seen};
use crate::storage::values::PageRecord;

/// Every row is that of a newest capture.
pub fn rows(pass: &mut Pass<'_>) -> Result<()> {
    each_chunk::<NearRows>(pass, |pass, rows| {
        for row in rows {
            let place = place_of(pass, row.key.page(CrawlId::default()));
            if !matches!(place, Some(NearPlace::Leads(own)) if own.contains(&row.key)) {
                let (subject, why) = (format!("near {}", hex(&row.raw)), "its page has another text, or leads nobody");
                pass.find(Fault::NearDangling, &subject, why, |batch| batch.delete::<NearRows>(&row.key))?;
            }
        }
        Ok(())
    })?;
    each_chunk::<NearMembers>(pass, |pass, rows| {
        for row in rows {
            if place_of(pass, row.key.page()) != Some(NearPlace::Follows(row.key)) {
                let (subject, why) =
                    (format!("near_members {}", hex(&row.raw)), "its page names another leader, or none");
                pass.find(Fault::NearDangling, &subject, why, |batch| batch.delete::<NearMembers>(&row.key))?;
            }
        }
        Ok(())
    })
}

/// What the newest capture of a URL calls for; one that does not decode is found elsewhere.
fn place_of(pass: &Pass<'_>, seen: SeenKey) -> Option<NearPlace> {
    let (_, page) = read::latest_page(pass.storage, seen).ok()??;
    NearPlace::of(&pass.prints, seen, &page)
}

/// The newest capture of a URL that is done has its rows, and a leader that is known.
pub fn placed(pass: &mut Pass<'_>, seen: SeenKey, page: &Row<Pages>) -> Result<()> {
    let Some(near) = &page.value.remarks.near else { return Ok(()) };
    let (url, fault) = (&page.value.url, Fault::NearMissing);
    match NearPlace::of(&pass.prints, seen, &page.value) {
        Some(NearPlace::Leads(own)) => {
            if pass.look::<NearRows>(&own)?.iter().all(Option::is_some) {
                return Ok(());
            }
            let why = "leads, and is not in all tables";
            return pass.find(fault, url, why, |batch| own.iter().for_each(|row| batch.put::<NearRows>(row, &())));
        }
        Some(NearPlace::Follows(row)) if pass.look_one::<Seen>(&row.leader())?.is_some() => {
            if pass.look_one::<NearMembers>(&row)?.is_some() {
                return Ok(());
            }
            return pass.find(fault, url, "is not in its group", |batch| batch.put::<NearMembers>(&row, &()));
        }
        _ => {}
    }
    let why = match near {
        Near::Leader => "is said to lead, and has no sketch of its text".to_owned(),
        Near::Like { url, .. } => format!("is said to be near to {url}, which nobody knows"),
    };
    let freed = of_no_group(page.value.clone());
    pass.find(Fault::NearDangling, url, &why, |batch| batch.put::<Pages>(&page.key, &freed))
}

/// A capture that is of no group.
pub fn of_no_group(mut page: PageRecord) -> PageRecord {
    page.remarks.near = None;
    page.remarks.notes.retain(|note| *note != Note::NearDuplicate);
    page
}
