//! Faults that the simulation has to find.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// A row goes at its answer, not when a checkpoint covers it.
    RowGoesAtAnswer,
    /// Who takes a partition does not raise its `next_seq` to the giver's.
    NextSeqNotRaised,
    /// The filter does not get the keys of what was taken in.
    FilterNotFilled,
    /// The end is told after one round.
    OneRound,
    /// Rows that do not count are not cleared before a partition is taken in.
    NotCleared,
    /// A lease is taken because its end has gone by, by the taker's clock on the wall.
    ClocksCompared,
    /// A giver fetches on after the map has a next owner.
    GiverFetchesOn,
    /// A folder that was put back claims to have received what the lost one had.
    NumberKept,
    /// Rows are numbered one after the other, so that a folder that was put back gives a number again.
    NumbersComeAgain,
    /// The object goes when the partition is taken in, not when a checkpoint has it.
    ObjectGoesEarly,
    /// Whatever map the engine has is obeyed, and any copy is put back.
    OlderMapObeyed,
    /// Links of what is another's are dropped by who receives them.
    NotRerouted,
    /// A partition is handed over without a checkpoint of the giver.
    HandedOverUncovered,
    /// Rows answered by a session that is gone count as answered.
    AnsweredByFormer,
    /// Who finds no record of its own writes one at once.
    MissingRecordWritten,
    /// A checkpoint has what the disk has not yet.
    CheckpointUnsynced,
    /// Who leaves does not wait until its outbox is empty.
    LeftWithRows,
    /// A link that comes out of a row is left out when the cache has it.
    LeftOutOfRows,
}

/// Each with the number of a run that finds it.
pub const ALL: [(Planted, u64); 18] = [
    (Planted::RowGoesAtAnswer, 3),
    (Planted::NextSeqNotRaised, 579),
    (Planted::FilterNotFilled, 1),
    (Planted::OneRound, 358),
    (Planted::NotCleared, 19),
    (Planted::ClocksCompared, 12),
    (Planted::GiverFetchesOn, 254),
    (Planted::NumberKept, 177),
    (Planted::NumbersComeAgain, 389),
    (Planted::ObjectGoesEarly, 0),
    (Planted::OlderMapObeyed, 348),
    (Planted::NotRerouted, 1),
    (Planted::HandedOverUncovered, 3),
    (Planted::AnsweredByFormer, 78),
    (Planted::MissingRecordWritten, 525),
    (Planted::CheckpointUnsynced, 178),
    (Planted::LeftWithRows, 69),
    (Planted::LeftOutOfRows, 219),
];
