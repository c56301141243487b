//! A graph of names from its edges, numbered and sorted as Common Crawl's web graphs are. Memory is bounded however large it is: records
//! are sorted in nameless files.

use std::io::{self, Write};
use std::path::Path;

use crate::base::sort::Sorter;

/// What parts the fields of a record; no name has it.
const NUL: u8 = 0;
/// Bytes of a vertex's number.
const NUMBER: usize = 8;

/// Vertices and edges, in any order and as often as they come.
pub struct Graph {
    /// `name 0 V member` of each vertex, `name 0 E target` of each edge that begins there.
    by_source: Sorter,
    /// `target 0 E source` of each edge, with the number of its source, and `name 0 N number` of each vertex.
    by_target: Sorter,
    /// Pairs of numbers.
    edges: Sorter,
}

/// What a record is, in the order in which they must come.
const VERTEX: u8 = b'V';
const NAMED: u8 = b'D';
const EDGE: u8 = b'E';

/// How much there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Names.
    pub vertices: u64,
    /// Different edges between different names.
    pub edges: u64,
}

impl Graph {
    /// With its temporary files in `dir`.
    pub fn new(dir: &Path) -> Self {
        Self { by_source: Sorter::new(dir), by_target: Sorter::new(dir), edges: Sorter::new(dir) }
    }

    /// There is this vertex, and it has this member (of a domain: a host).
    pub fn vertex(&mut self, name: &str, member: &str) -> io::Result<()> {
        self.by_source.push(&record(name, VERTEX, member.as_bytes()))
    }

    /// There is an edge; both its ends must be told as vertices too.
    pub fn edge(&mut self, from: &str, to: &str) -> io::Result<()> {
        if from == to { Ok(()) } else { self.by_source.push(&record(from, EDGE, to.as_bytes())) }
    }

    /// Writes `number TAB name` for each vertex, by name, and where `members` are wanted a tab and how many different ones it has; then
    /// `from TAB to` for each edge, by number. `step` is called between pieces of work and may end it.
    pub fn write<E: From<io::Error>>(
        mut self,
        members: bool,
        vertices: &mut dyn Write,
        edges: &mut dyn Write,
        mut step: impl FnMut() -> Result<(), E>,
    ) -> Result<Size, E> {
        let mut size = Size::default();
        let mut rows = self.by_source.sorted()?;
        let mut vertex = Vertex::default();
        while let Some(row) = rows.next_record()? {
            let (name, kind, rest) = parts(&row);
            if name != vertex.name {
                size.vertices += vertex.write(members, vertices)?;
                vertex = Vertex { name: name.to_vec(), number: size.vertices, ..Vertex::default() };
                self.by_target.push(&record_of(name, NAMED, &vertex.number.to_be_bytes()))?;
                step()?;
            }
            match kind {
                EDGE => self.by_target.push(&record_of(rest, EDGE, &vertex.number.to_be_bytes()))?,
                _ if vertex.last != rest => {
                    vertex.members += 1;
                    vertex.last = rest.to_vec();
                }
                _ => {}
            }
        }
        size.vertices += vertex.write(members, vertices)?;
        let (mut rows, mut target) = (self.by_target.sorted()?, Vec::new());
        while let Some(row) = rows.next_record()? {
            match parts(&row) {
                (_, NAMED, number) => target = number.to_vec(),
                (_, _, source) => self.edges.push(&[source, &target].concat())?,
            }
            step()?;
        }
        let (mut rows, mut last) = (self.edges.sorted()?, Vec::new());
        while let Some(row) = rows.next_record()? {
            if row != last {
                let (from, to) = row.split_at(row.len().min(NUMBER));
                writeln!(edges, "{}\t{}", number(from), number(to))?;
                size.edges += 1;
                last = row;
            }
            step()?;
        }
        Ok(size)
    }
}

/// The vertex whose records are being read.
#[derive(Default)]
struct Vertex {
    name: Vec<u8>,
    number: u64,
    members: u64,
    last: Vec<u8>,
}

impl Vertex {
    /// How many there are: one, or none before the first.
    fn write(&self, members: bool, out: &mut dyn Write) -> io::Result<u64> {
        if self.name.is_empty() {
            return Ok(0);
        }
        write!(out, "{}\t", self.number)?;
        out.write_all(&self.name)?;
        if members {
            write!(out, "\t{}", self.members)?;
        }
        out.write_all(b"\n")?;
        Ok(1)
    }
}

fn record(name: &str, kind: u8, rest: &[u8]) -> Vec<u8> {
    record_of(name.as_bytes(), kind, rest)
}

fn record_of(name: &[u8], kind: u8, rest: &[u8]) -> Vec<u8> {
    [name, &[NUL, kind], rest].concat()
}

/// Name, kind and rest of a record.
fn parts(row: &[u8]) -> (&[u8], u8, &[u8]) {
    let (name, rest) = row.split_at(memchr::memchr(NUL, row).unwrap_or(row.len()));
    match rest {
        [_, kind, rest @ ..] => (name, *kind, rest),
        _ => (name, VERTEX, &[]),
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn written(graph: Graph, members: bool) -> (String, String, Size) {
        let (mut vertices, mut edges) = (Vec::new(), Vec::new());
        let size = graph.write(members, &mut vertices, &mut edges, || io::Result::Ok(())).unwrap();
        (String::from_utf8(vertices).unwrap(), String::from_utf8(edges).unwrap(), size)
    }

    #[test]
    fn vertices_are_numbered_by_name_and_edges_sorted_by_number() {
        let dir = tempfile::tempdir().unwrap();
        let mut graph = Graph::new(dir.path());
        for (name, member) in
            [("org.b", "www.b.org"), ("com.a", "a.com"), ("org.b", "b.org"), ("org.b", "b.org"), ("net.c", "c.net")]
        {
            graph.vertex(name, member).unwrap();
        }
        for (from, to) in
            [("org.b", "com.a"), ("com.a", "org.b"), ("com.a", "net.c"), ("com.a", "org.b"), ("com.a", "com.a")]
        {
            graph.edge(from, to).unwrap();
        }
        let (vertices, edges, size) = written(graph, true);
        assert_eq!(vertices, "0\tcom.a\t1\n1\tnet.c\t1\n2\torg.b\t2\n");
        assert_eq!(edges, "0\t1\n0\t2\n2\t0\n");
        assert_eq!(size, Size { vertices: 3, edges: 3 });
        assert_eq!(written(Graph::new(dir.path()), false), (String::new(), String::new(), Size::default()));
    }

    proptest! {
        #[test]
        fn the_graph_that_is_written_is_the_one_that_was_told(told in prop::collection::vec(("[a-c]{1,2}", "[a-c.]{1,3}"), 0..60)) {
            let dir = tempfile::tempdir().unwrap();
            let mut graph = Graph::new(dir.path());
            for (from, to) in &told {
                graph.edge(from, to).unwrap();
                graph.vertex(to, "").unwrap();
                graph.vertex(from, "").unwrap();
            }
            let names: BTreeSet<&String> = told.iter().flat_map(|(from, to)| [from, to]).collect();
            let numbers: BTreeMap<_, _> = names.iter().zip(0_u64..).collect();
            let lines: String = names.iter().zip(0..).map(|(name, number)| format!("{number}\t{name}\n")).collect();
            let pairs: BTreeSet<_> = told.iter().filter(|(a, b)| a != b).map(|(a, b)| (numbers[&a], numbers[&b])).collect();
            let pairs: String = pairs.iter().map(|(a, b)| format!("{a}\t{b}\n")).collect();
            let (vertices, edges, _) = written(graph, false);
            prop_assert_eq!((vertices, edges), (lines, pairs));
        }
    }
}
