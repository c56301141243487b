//! A graph of pages, their importance, and spaces that never end.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use lycosa::domain::host::registrable_domain;

/// Pages by number; what they link to is numbered too.
pub struct Graph {
    /// Host, domain and part of each page.
    pub spots: Vec<Spot>,
    links: Vec<Vec<u32>>,
    /// The front page of each host: that with the shortest URL.
    pub fronts: Vec<u32>,
}

/// Where a page stands.
#[derive(Clone, Copy)]
pub struct Spot {
    pub host: u32,
    pub domain: u32,
    pub part: u32,
}

/// Numbers for names.
#[derive(Default)]
struct Names(HashMap<String, u32>);

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(name.to_owned()).or_insert(next)
    }
}

impl Graph {
    /// Reads what `benches/graph.py` writes: a line a page, its URL and the numbers of the pages it links to, by tabs.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let (mut hosts, mut domains, mut parts) = (Names::default(), Names::default(), Names::default());
        let mut graph = Self { spots: Vec::new(), links: Vec::new(), fronts: Vec::new() };
        let mut shortest: HashMap<u32, (usize, u32)> = HashMap::new();
        for (page, line) in (0_u32..).zip(text.lines()) {
            let mut cells = line.split('\t');
            let url = cells.next().unwrap_or_default();
            let rest = url.strip_prefix("http://").ok_or_else(|| format!("line {}: no URL", page + 1))?;
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let top = path.split_once('/').map_or("", |(top, _)| top);
            let host_number = hosts.number(host);
            graph.spots.push(Spot {
                host: host_number,
                domain: domains.number(registrable_domain(host)),
                part: parts.number(&format!("{host}/{top}")),
            });
            let links: Result<Vec<u32>, _> = cells.map(str::parse).collect();
            graph.links.push(links.map_err(|e| format!("line {}: {e}", page + 1))?);
            let front = shortest.entry(host_number).or_insert((url.len(), page));
            *front = (*front).min((url.len(), page));
        }
        let mut fronts: Vec<u32> = shortest.into_values().map(|(_, page)| page).collect();
        fronts.sort_unstable();
        graph.fronts = fronts;
        Ok(graph)
    }

    pub fn len(&self) -> usize {
        self.spots.len()
    }

    /// Links of all pages.
    pub fn arcs(&self) -> usize {
        self.links.iter().map(Vec::len).sum()
    }

    pub fn links(&self, page: u32) -> &[u32] {
        self.links.get(page as usize).map_or(&[], Vec::as_slice)
    }

    /// PageRank of each page, in all 1; a page without links leads to all.
    pub fn page_rank(&self) -> Vec<f64> {
        const DAMPING: f64 = 0.85;
        let n = self.len() as f64;
        let mut rank = vec![1.0 / n; self.len()];
        for _ in 0..100 {
            let mut next = vec![0.0; self.len()];
            let mut nowhere = 0.0;
            for (links, own) in self.links.iter().zip(&rank) {
                match links.len() {
                    0 => nowhere += own,
                    many => links.iter().for_each(|to| next[*to as usize] += own / many as f64),
                }
            }
            let to_all = (1.0 - DAMPING + DAMPING * nowhere) / n;
            next.iter_mut().for_each(|own| *own = DAMPING * *own + to_all);
            rank = next;
        }
        rank
    }

    /// Which pages a walk from these comes to.
    pub fn reached(&self, from: &[u32]) -> Vec<bool> {
        let (mut reached, mut stack) = (vec![false; self.len()], from.to_vec());
        while let Some(page) = stack.pop() {
            if !std::mem::replace(&mut reached[page as usize], true) {
                stack.extend(self.links(page));
            }
        }
        reached
    }
}

/// How the pages of an endless space stand to the site that has it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Spaces {
    None,
    /// Each is a domain of its own.
    Domains,
    /// Each is a folder of the host on which it is found.
    Folders,
}

/// Links of a page of an endless space, each to a page that nobody knows.
const BRANCHES: u32 = 10;

/// A graph in which some pages lead to endless spaces, seen while it is walked.
pub struct Web<'g> {
    pub graph: &'g Graph,
    spaces: Spaces,
    /// Pages with a link to a space.
    gates: HashMap<u32, u32>,
    /// The space of each page made so far, by its number above those of the graph.
    made: Vec<u32>,
    /// Hosts on which the spaces stand.
    on: Vec<Spot>,
}

impl<'g> Web<'g> {
    /// These pages lead to a space each.
    pub fn new(graph: &'g Graph, spaces: Spaces, gates: &[u32]) -> Self {
        let on = gates.iter().map(|page| graph.spots[*page as usize]).collect();
        let gates = if spaces == Spaces::None { HashMap::new() } else { gates.iter().copied().zip(0..).collect() };
        Self { graph, spaces, gates, made: Vec::new(), on }
    }

    /// Whether a page is one of a space.
    pub fn in_space(&self, page: u32) -> bool {
        page as usize >= self.graph.len()
    }

    pub fn spot(&self, page: u32) -> Spot {
        let Some(nth) = (page as usize).checked_sub(self.graph.len()) else { return self.graph.spots[page as usize] };
        let space = self.made[nth];
        let own = u32::MAX - space;
        match self.spaces {
            Spaces::Folders => Spot { part: own, ..self.on[space as usize] },
            _ => Spot { host: own, domain: own, part: own },
        }
    }

    /// The links of a page that is fetched.
    pub fn fetch(&mut self, page: u32) -> Vec<u32> {
        let mut links = self.graph.links(page).to_vec();
        let made = match (page as usize).checked_sub(self.graph.len()) {
            Some(nth) => Some((self.made[nth], BRANCHES)),
            None => self.gates.get(&page).map(|space| (*space, 1)),
        };
        for (space, n) in made.into_iter() {
            for _ in 0..n {
                links.push((self.graph.len() + self.made.len()) as u32);
                self.made.push(space);
            }
        }
        links
    }
}
