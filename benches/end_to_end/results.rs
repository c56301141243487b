//! What stands in `benches/RESULTS.md`: the newest row of each workload.

use std::collections::HashMap;

/// The rows of the first table that has these columns.
const COLUMNS: [&str; 3] = ["workload", "CPU µs a page", "/ wget's"];

/// The newest rows by workload.
#[derive(Default)]
pub struct Results(HashMap<String, Before>);

/// One of them.
pub struct Before {
    pub cpu: f64,
    /// CPU a page / wget's.
    pub ratio: Option<f64>,
}

impl Results {
    pub fn read() -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/RESULTS.md");
        Self::of_text(&std::fs::read_to_string(path).unwrap_or_default())
    }

    fn of_text(text: &str) -> Self {
        let mut lines = text.lines().map(cells);
        let places = lines.find_map(|head| {
            let place = |column| head.iter().position(|cell| *cell == column);
            Some([place(COLUMNS[0])?, place(COLUMNS[1])?, place(COLUMNS[2])?])
        });
        let Some([workload, cpu, ratio]) = places else { return Self::default() };
        let row = |cells: Vec<&str>| {
            let number = |place: usize| cells.get(place).and_then(|cell| cell.parse::<f64>().ok());
            Some((cells.get(workload)?.to_string(), Before { cpu: number(cpu)?, ratio: number(ratio) }))
        };
        Self(lines.skip(1).take_while(|cells| cells.len() > 1).filter_map(row).collect())
    }

    pub fn of(&self, workload: &str) -> Option<&Before> {
        self.0.get(workload)
    }
}

impl Before {
    /// New / old: of the ratios to wget where there are both, else of the times, perhaps those of two machines.
    pub fn compare(&self, cpu: f64, ratio: Option<f64>) -> f64 {
        match (ratio, self.ratio) {
            (Some(new), Some(old)) => new / old,
            _ => cpu / self.cpu,
        }
    }
}

fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_matches('|').split('|').map(str::trim).collect()
}
