//! Reads case tables of `tests/data` with one case a line: cells apart by ` | `, or by tabs; the last one is the source of the rule.

use serde_json::Value;

/// One row.
pub struct Row<'t> {
    /// Its cells, without the source; trimmed.
    pub cells: Vec<&'t str>,
    /// Its line in the file, from 1.
    pub line: usize,
    /// As it stands there.
    pub text: &'t str,
}

/// The rows of `table`, each with so many `cells` and a source, unless remarks `# [source]` stand above them. Empty lines and those
/// that begin with `#` are remarks.
pub fn rows(table: &str, cells: usize) -> impl Iterator<Item = Row<'_>> {
    let headed = table.contains("\n# [");
    let lines = table.lines().zip(1..).filter(|(text, _)| !text.trim().is_empty() && !text.starts_with('#'));
    lines.map(move |(text, line)| {
        let mut parts: Vec<&str> = match text.contains(" | ") {
            true => text.split(" | ").map(str::trim).collect(),
            false => text.split('\t').collect(),
        };
        assert_eq!(parts.len(), cells + usize::from(!headed), "line {line} has not {cells} cells and a source: {text}");
        assert!(headed || !parts.pop().unwrap_or_default().is_empty(), "line {line} names no source: {text}");
        Row { cells: parts, line, text }
    })
}

/// Holds what `found` makes of the first cells of each row against the cells behind them; how many rows there are.
pub fn check<'t, const N: usize, const M: usize, T: AsRef<str>>(
    table: &'t str,
    mut found: impl FnMut([&'t str; N]) -> [T; M],
) -> usize {
    let (mut count, mut wrong) = (0, Vec::new());
    for Row { cells, line, text } in rows(table, N + M) {
        let (asked, wanted) = cells.split_at(N);
        let told = found(asked.try_into().unwrap());
        if told.each_ref().map(AsRef::as_ref) != wanted {
            wrong.push(format!("line {line}: {:?}: {text}", told.each_ref().map(AsRef::as_ref)));
        }
        count += 1;
    }
    assert!(count > 0 && wrong.is_empty(), "{}", wrong.join("\n"));
    count
}

/// A text in pieces of these sizes in turn, each a little longer where a character would be cut.
pub fn pieces<'t>(text: &'t str, sizes: &'t [usize]) -> impl Iterator<Item = &'t str> {
    let (mut rest, mut sizes) = (text, sizes.iter().cycle());
    std::iter::from_fn(move || {
        let size = *sizes.next()?;
        let end = (size..rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// What a cell says; nothing where it is `-`.
pub fn given(cell: &str) -> Option<&str> {
    (cell != "-").then_some(cell)
}

/// The same as [`unescaped`], of what is text then.
pub fn unescape(text: &str) -> String {
    String::from_utf8(unescaped(text)).unwrap()
}

/// The bytes of a text, its escapes `\r \n \t \f \0 \\ \s \xNN \u{N}` undone; `\s` is a space, which may stand at the end, `\L{n}` n letters,
/// `\E{n}` n elements that open.
pub fn unescaped(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once('\\') {
        out.extend(before.as_bytes());
        let mut after = escape.chars();
        let letter = after.next();
        rest = after.as_str();
        let mut braced = || {
            let (inner, behind) = rest.strip_prefix('{').and_then(|inner| inner.split_once('}')).unwrap();
            rest = behind;
            inner
        };
        match letter {
            Some('r') => out.push(b'\r'),
            Some('n') => out.push(b'\n'),
            Some('t') => out.push(b'\t'),
            Some('f') => out.push(0x0c),
            Some('s') => out.push(b' '),
            Some('0') => out.push(0),
            Some('\\') => out.push(b'\\'),
            Some('x') => {
                let (digits, behind) = rest.split_at(2);
                out.push(u8::from_str_radix(digits, 16).unwrap());
                rest = behind;
            }
            Some('u') => {
                let c = char::from_u32(u32::from_str_radix(braced(), 16).unwrap()).unwrap();
                out.extend(c.to_string().as_bytes());
            }
            Some('L') => out.extend("a".repeat(braced().parse().unwrap()).as_bytes()),
            Some('E') => out.extend("<x>".repeat(braced().parse().unwrap()).as_bytes()),
            other => panic!("unknown escape {other:?} in {text}"),
        }
    }
    out.extend(rest.as_bytes());
    out
}

/// A case of a table in blocks: lines of a word and what belongs to it.
pub struct Block<'t> {
    pub name: &'t str,
    lines: Vec<(&'t str, &'t str)>,
}

/// The blocks of `table`, each of which begins with `case: NAME`. Empty lines and those that begin with `#` are
/// remarks; `words` may begin a line, beside those that [`Block::check`] reads.
pub fn blocks<'t>(table: &'t str, words: &[&str]) -> Vec<Block<'t>> {
    let mut blocks: Vec<Block<'t>> = Vec::new();
    for line in table.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if word == "case:" {
            blocks.push(Block { name: rest, lines: Vec::new() });
            continue;
        }
        let block = blocks.last_mut().expect("a table begins with a case");
        let known =
            word.starts_with('/') || ["|", "has", "no", "nothing", "="].iter().chain(words).any(|known| *known == word);
        assert!(known, "unknown word `{word}` in case `{}`", block.name);
        block.lines.push((word, rest));
    }
    assert!(!blocks.is_empty());
    blocks
}

impl<'t> Block<'t> {
    /// What stands behind a word, line by line.
    pub fn all(&self, word: &str) -> impl Iterator<Item = &'t str> {
        self.lines.iter().filter(move |(found, _)| *found == word).map(|(_, rest)| *rest)
    }

    /// What stands behind a word that is there at most once.
    pub fn one(&self, word: &str) -> Option<&'t str> {
        let mut all = self.all(word);
        let one = all.next();
        assert_eq!(all.next(), None, "{}: {word} is there twice", self.name);
        one
    }

    /// The lines of a word as one text, their escapes undone.
    pub fn bytes(&self, word: &str) -> Vec<u8> {
        self.all(word).map(unescaped).collect::<Vec<_>>().join(&b'\n')
    }

    /// What is wrong with what was told, by what the case says of it: `|` the whole of it, line by line; `has` and
    /// `no`, what is and what is not in it; `nothing`, that there is none; `=` the JSON that it is; `/POINTER` what
    /// stands there in this JSON, null for nothing.
    pub fn check(&self, told: &str) -> Option<String> {
        let text = |escaped: &str| String::from_utf8(unescaped(escaped)).unwrap();
        let expected = |json: &str| serde_json::from_str::<Value>(json).unwrap_or_else(|e| panic!("{e}: {json}"));
        let json: Value = serde_json::from_str(told).unwrap_or_default();
        let whole = told.lines().eq(&self.all("|").map(text).collect::<Vec<_>>());
        let holds = |(word, rest): &&(&str, &str)| match *word {
            "|" => whole,
            "has" => told.contains(&text(rest)),
            "no" => !told.contains(&text(rest)),
            "nothing" => told.is_empty(),
            "=" => json == expected(rest),
            at if at.starts_with('/') => *json.pointer(at).unwrap_or(&Value::Null) == expected(rest),
            _ => true,
        };
        let wrong: Vec<_> = self.lines.iter().filter(|line| !holds(line)).collect();
        (!wrong.is_empty()).then(|| format!("{}: not so: {wrong:?} in\n{told}", self.name))
    }
}

/// Lays JSON over other JSON: objects part by part, everything else whole.
pub fn lay(over: &Value, base: &mut Value) {
    match (over.as_object(), base.as_object_mut()) {
        (Some(over), Some(base)) => {
            over.iter().for_each(|(name, part)| lay(part, base.entry(name).or_insert(Value::Null)))
        }
        _ => *base = over.clone(),
    }
}
