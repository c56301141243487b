//! The whole crawler as its users run it: `lycosa run --until-done` in a process of its own against `lycosa testweb` or
//! nginx, everything on: robots.txt, politeness, seen test, WARC with CDXJ, durability as by default.
//!
//! Prints rows for `benches/RESULTS.md` beside what stands there. CPU is that of the crawler's process alone, user and
//! system; it is the figure to compare, because pages a second depend on what else the machine does, the server of the
//! pages included. GNU wget on the pages of `real` is the measure of the machine: *ours / wget's* means the same on
//! each. Crawler and wget have one core, all that serves has the others, where there are two or more.
//!
//! `cargo bench --profile release --bench end_to_end -- [--full] [--only NAME,…] [--runs N] [--binary LYCOSA]…
//! [--no-wget] [--under COMMAND]`
//!
//! Several `--binary` are compared in alternating runs. The crawler is run under `--under`, such as `perf record`.
//! The workload `real` and wget want nginx and the folder `LYCOSA_PAGES`.

mod cores;
mod results;
mod row;
mod server;
mod tls;
mod wget;
mod workload;

use std::error::Error;
use std::path::PathBuf;

use cores::Cores;
use results::{Before, Results};
use row::{Row, measure};
use workload::Workload;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1).peekable();
    if args.next_if_eq("--measure").is_some() {
        return measure(args);
    }
    let plan = Plan::read(args)?;
    println!("{}\n", cores::machine(&plan.cores));
    println!("{}", row::HEAD);
    let mut wget = plan.wget();
    for workload in workload::all().iter().filter(|workload| plan.wants(workload)) {
        for _ in 0..plan.runs {
            wget = plan.round(workload, wget);
        }
    }
    Ok(())
}

/// What was asked for on the command line, and what is known before.
struct Plan {
    full: bool,
    runs: usize,
    wget: bool,
    only: Vec<String>,
    binaries: Vec<PathBuf>,
    /// What the crawler is run under.
    under: Vec<String>,
    cores: Cores,
    before: Results,
}

impl Plan {
    fn read(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let (before, cores) = (Results::read(), Cores::divide());
        let (only, binaries, under) = (Vec::new(), Vec::new(), Vec::new());
        let mut plan = Self { full: false, runs: 1, wget: true, only, binaries, under, cores, before };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            match arg.as_str() {
                "--full" => plan.full = true,
                "--no-wget" => plan.wget = false,
                "--runs" => plan.runs = value()?.parse()?,
                "--only" => plan.only = value()?.split(',').map(str::to_owned).collect(),
                "--binary" => plan.binaries.push(value()?.into()),
                "--under" => plan.under = value()?.split_whitespace().map(str::to_owned).collect(),
                _ => {} // what cargo itself hands on
            }
        }
        if plan.binaries.is_empty() {
            plan.binaries.push(env!("CARGO_BIN_EXE_lycosa").into());
        }
        Ok(plan)
    }

    fn wants(&self, workload: &Workload) -> bool {
        if self.only.is_empty() {
            workload.is_in(self.full)
        } else {
            self.only.iter().any(|name| name == workload.name)
        }
    }

    /// Every binary, then wget; `before` is wget's CPU a page before them. A machine that is busy for a while is so for
    /// both: they are compared with the mean of wget before and after. Returns wget's after them.
    fn round(&self, workload: &Workload, before: Option<f64>) -> Option<f64> {
        let rows: Vec<_> = self.binaries.iter().map(|binary| workload.run(binary, &self.under, &self.cores)).collect();
        let after = self.wget();
        let wget = before.zip(after).map(|(before, after)| f64::midpoint(before, after));
        for (binary, row) in self.binaries.iter().zip(&rows) {
            let name = binary.file_name().unwrap_or_default().to_string_lossy();
            print(workload.name, &name, row, wget, self.before.of(workload.name));
        }
        after
    }

    /// One crawl by wget, if wanted, and its CPU a page.
    fn wget(&self) -> Option<f64> {
        let row = self.wget.then(|| wget::run(&self.cores))?;
        print("real", "wget", &row, None, None);
        row.ok().map(|row| row.cpu_a_page())
    }
}

fn print(workload: &str, program: &str, row: &Result<Row>, wget: Option<f64>, before: Option<&Before>) {
    match row {
        Ok(row) => println!("{}", row.line(workload, program, wget, before)),
        Err(e) => println!("| {workload} | {program} | not run: {e} |"),
    }
}
