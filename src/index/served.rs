//! The index as the rest of the program sees it: the generation that answers, and how far it is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::reader::Reader;
use super::schema::Stand;
use crate::base::kinds::names;
use crate::base::sync::lock;

names! {
    /// What whoever follows the feed into the index does.
    #[derive(Default)]
    Doing {
        /// The index is switched off.
        #[default]
        Off = "off";
        /// Reads what there is, to see whether it is whole.
        Checking = "checking";
        /// Takes pages in.
        Following = "following";
        /// Has taken in all.
        Waiting = "waiting";
        /// Rests while the disk is low.
        Held = "held";
        /// Rests after something went wrong.
        Resting = "resting";
    }
}

/// How far it is.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// What is being done.
    pub doing: Doing,
    /// Number of the generation that answers.
    pub answers: u32,
    /// Number of the one that is written; the same, unless a new one is being built.
    pub writes: u32,
    /// Up to where that is true, with what is not committed.
    pub written: Stand,
    /// Up to which entry that which answers is true.
    pub committed: u64,
    /// Documents put in since the process began.
    pub added: u64,
    /// Those whose bytes could not be had.
    pub unread: u64,
    /// How often something went wrong.
    pub failures: u64,
    /// What went wrong last.
    pub error: Option<String>,
    /// Pages of which it died three times, by their ids: they are taken in without their text. The first hundred.
    pub bare: Vec<String>,
    /// Bytes of all files.
    pub bytes: u64,
}

/// What is shared between whoever writes the index and whoever asks it.
#[derive(Default)]
pub struct Served {
    reader: RwLock<Option<Arc<Reader>>>,
    told: Mutex<Told>,
    rebuild: AtomicBool,
}

impl Served {
    /// The generation that answers; none while there is none, or it is not looked through yet.
    pub fn reader(&self) -> Option<Arc<Reader>> {
        self.reader.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on this one answers.
    pub fn answer(&self, reader: Option<Arc<Reader>>) {
        *self.reader.write().unwrap_or_else(PoisonError::into_inner) = reader;
    }

    /// How far it is.
    pub fn told(&self) -> Told {
        lock(&self.told).clone()
    }

    /// Something is to be told.
    pub fn tell(&self, change: impl FnOnce(&mut Told)) {
        change(&mut lock(&self.told));
    }

    /// A new generation is to be built.
    pub fn rebuild(&self) {
        self.rebuild.store(true, Ordering::Release);
    }

    /// Whether a new one is to be built.
    pub fn is_to_rebuild(&self) -> bool {
        self.rebuild.load(Ordering::Acquire)
    }

    /// Whether a new one is to be built; it is then taken for begun.
    pub fn take_rebuild(&self) -> bool {
        self.rebuild.swap(false, Ordering::AcqRel)
    }
}
