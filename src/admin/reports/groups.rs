//! Groups of near-duplicates: each with its leader, how many pages it has, and the first few of them.

use actix_web::HttpRequest;
use actix_web::web::Data;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::near::{NearPage, WhichGroups, line};
use crate::admin::body::query;
use crate::admin::bounded::reading;
use crate::admin::control::ControlError;
use crate::admin::find::unread;
use crate::admin::orders::command::range_of;
use crate::admin::paging::{Page, Paging, cursor};
use crate::admin::problem::{Answer, Refusal, ok};
use crate::crawl::node::Node;
use crate::domain::fingerprint::{HostKey, UrlKey};
use crate::storage::keys::{Key, NearMemberKey, SeenKey};
use crate::storage::tables::NearMembers;
use crate::storage::values::PageRecord;
use crate::storage::{StorageError, read};

/// Members that are counted for one answer, all its groups together.
const COUNTED: usize = 10_000;
/// Members of a group that are shown.
const SHOWN: usize = 5;

/// A group of near-duplicates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NearGroup {
    /// The leader: the first page with such a text.
    pub leader: String,
    /// Its title.
    pub title: Option<String>,
    /// Pages that are near to it.
    pub members: usize,
    /// There are more members than were counted.
    pub more: bool,
    /// The first five of them.
    pub pages: Vec<NearPage>,
}

/// Groups of near-duplicates in the order of their leaders' keys, each with its first members.
#[utoipa::path(get, path = "/api/v1/reports/near-duplicates/groups", tag = "reports", params(WhichGroups, Paging), responses(
    (status = 200, body = Page<NearGroup>), Refusal<400>, Refusal<503>,
))]
pub(in crate::admin) async fn near_groups(request: HttpRequest, node: Data<Node>) -> Answer {
    let (WhichGroups { host }, paging) = (query(&request)?, query(&request)?);
    ok(reading(move || groups(&node, host.as_deref(), &paging)).await?)
}

fn groups(node: &Node, host: Option<&str>, paging: &Paging) -> Result<Page<NearGroup>, ControlError> {
    let (limit, range) = paging.part(range_of(node, host)?)?;
    let rows = read::scan::<NearMembers>(&*node.storage, &range, COUNTED).map_err(unread)?;
    let keys: Vec<NearMemberKey> = rows.into_iter().map(|(key, ())| key).collect();
    let counted = counted(&keys, limit, keys.len() == COUNTED);
    let next = counted.next.map(|leader| cursor(&end_of(leader).encode()));
    let items = counted.groups.into_iter().filter_map(|(members, more)| group(node, members, more).transpose());
    Ok(Page { items: items.collect::<Result<_, StorageError>>().map_err(unread)?, next })
}

/// The groups of an answer: members of each, and whether it has more. And the leader after which the next answer begins.
struct Counted<'k> {
    groups: Vec<(&'k [NearMemberKey], bool)>,
    next: Option<SeenKey>,
}

/// A group that the look was cut in is shown when it is the only one; otherwise the next answer begins with it.
fn counted(keys: &[NearMemberKey], limit: usize, cut: bool) -> Counted<'_> {
    let mut groups: Vec<&[NearMemberKey]> = keys.chunk_by(|a, b| a.leader() == b.leader()).collect();
    let alone = cut && groups.len() == 1;
    if cut && !alone {
        groups.pop();
    }
    let rest = cut || groups.len() > limit;
    groups.truncate(limit);
    let next = groups.last().and_then(|members| members.first()).filter(|_| rest).map(|key| key.leader());
    Counted { groups: groups.into_iter().map(|members| (members, alone)).collect(), next }
}

/// The last key that a member of this group could have.
fn end_of(leader: SeenKey) -> NearMemberKey {
    let SeenKey { partition, host, crawl, url } = leader;
    NearMemberKey { partition, host, crawl, url, member_host: HostKey([0xff; 8]), member: UrlKey([0xff; 12]) }
}

/// None when no record of the members that are shown is there.
fn group(node: &Node, members: &[NearMemberKey], more: bool) -> Result<Option<NearGroup>, StorageError> {
    let newest = |key| Ok(read::latest_page(&*node.storage, key)?.map(|(_, page)| page));
    let Some(first) = members.first() else { return Ok(None) };
    let leader: Option<PageRecord> = newest(first.leader())?;
    let pages = members.iter().take(SHOWN).filter_map(|key| {
        let page = newest(key.page()).transpose()?;
        page.map(|page| line(leader.as_ref(), page)).transpose()
    });
    let pages: Vec<NearPage> = pages.collect::<Result<_, StorageError>>()?;
    let named = pages.first().map(|page| (page.group.clone(), page.group_title.clone()));
    Ok(named.map(|(leader, title)| NearGroup { leader, title, members: members.len(), more, pages }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fingerprint::CrawlId;
    use crate::domain::partition::Partition;

    fn key(leader: u8, member: u8) -> NearMemberKey {
        NearMemberKey {
            partition: Partition(1),
            host: HostKey([1; 8]),
            crawl: CrawlId::default(),
            url: UrlKey([leader; 12]),
            member_host: HostKey([1; 8]),
            member: UrlKey([member; 12]),
        }
    }

    #[test]
    fn groups_are_whole_but_one_that_is_larger_than_a_look() {
        let keys = [key(1, 1), key(1, 2), key(2, 1), key(3, 1), key(3, 2)];
        let of = |keys: &[NearMemberKey], limit, cut| {
            let Counted { groups, next } = counted(keys, limit, cut);
            let sizes: Vec<(usize, bool)> = groups.into_iter().map(|(members, more)| (members.len(), more)).collect();
            (sizes, next.map(|leader| leader.url.0[0]))
        };
        assert_eq!(of(&[], 5, false), (vec![], None));
        assert_eq!(of(&keys, 5, false), (vec![(2, false), (1, false), (2, false)], None));
        assert_eq!(of(&keys, 3, false), (vec![(2, false), (1, false), (2, false)], None));
        assert_eq!(of(&keys, 2, false), (vec![(2, false), (1, false)], Some(2)));
        assert_eq!(of(&keys, 5, true), (vec![(2, false), (1, false)], Some(2)), "the last one may have more");
        assert_eq!(of(&keys[..2], 5, true), (vec![(2, true)], Some(1)), "it is larger than a look");
        let end = end_of(key(1, 0).leader()).encode();
        assert!(key(1, 254).encode() < end && end < key(2, 0).encode());
    }
}
