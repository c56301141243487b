//! GNU wget on the pages of the workload `real`: the same server, the same core, into a folder of its own.

use std::process::Command;

use crate::Result;
use crate::cores::Cores;
use crate::row::{Row, measured};
use crate::server::Server;

/// Names no other host than the seeds' (loopback), takes no proxy and reads no settings of the user.
const OPTIONS: [&str; 7] = ["--recursive", "--level=inf", "--no-config", "--no-proxy", "--no-hsts", "--quiet", "-P"];

/// One crawl by wget.
pub fn run(cores: &Cores) -> Result<Row> {
    if Command::new("wget").arg("--version").output().is_err() {
        return Err("wget is not installed: apt-get install wget".into());
    }
    let folder = tempfile::tempdir()?;
    let server = Server::nginx(folder.path())?;
    let mut command = measured(&[], cores)?;
    command.arg("wget").args(OPTIONS).arg(folder.path().join("pages")).args(&server.seeds);
    let output = command.output()?;
    let mut row = Row::read(&String::from_utf8_lossy(&output.stdout))?;
    row.pages = server.pages().ok_or("nginx has no log")?;
    Ok(row)
}
