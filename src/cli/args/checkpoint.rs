//! What may be typed after `lycosa checkpoint`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::AtRestArgs;

/// Arguments of `lycosa checkpoint`.
#[derive(Clone, Debug, Args)]
pub struct CheckpointArgs {
    /// Which crawl; of restore and import `data` is where the state goes.
    #[command(flatten)]
    pub at_rest: AtRestArgs,
    /// What to do.
    #[command(subcommand)]
    pub command: CheckpointCommand,
}

/// `lycosa checkpoint …`. NAME may be `newest`.
#[derive(Clone, Debug, Subcommand)]
pub enum CheckpointCommand {
    /// Make one; a running crawl is asked to
    Create {
        /// Address of its admin endpoint; from the configuration when absent
        #[arg(long, value_name = "ADDR:PORT")]
        admin: Option<String>,
        /// File with its token; from the configuration when absent
        #[arg(long, value_name = "FILE")]
        token_file: Option<PathBuf>,
    },
    /// Show those there are
    List,
    /// Check every digest, the database, and that the archive is there
    Verify {
        /// Its name
        #[arg(default_value = "newest")]
        name: String,
    },
    /// Make a data folder of one: into a new folder (--data), or with --force in place of the present state
    Restore {
        /// Its name
        name: String,
        /// The data folder it was made of, when that is not the configuration's or --data
        #[arg(long, value_name = "DIR")]
        from: Option<PathBuf>,
        /// In place of a crawl's present state, which is set aside
        #[arg(long)]
        force: bool,
        /// Although archive files it refers to are missing
        #[arg(long)]
        incomplete: bool,
    },
    /// Copy one elsewhere, with all that is needed to go on there; what is there already is not sent again
    Export {
        /// Its name
        name: String,
        /// A folder or s3://BUCKET/PREFIX
        target: String,
        /// Leave the WARC and CDXJ files behind
        #[arg(long)]
        without_warc: bool,
    },
    /// Make a new data folder (--data) of an exported one
    Import {
        /// Where it was copied to, for the newest whole one; or PLACE@NAME
        source: String,
        /// Although archive files were left behind
        #[arg(long)]
        incomplete: bool,
    },
}
