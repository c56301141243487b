//! Tests of the whole: the program, a node in one process, the daemon.

mod cli;
