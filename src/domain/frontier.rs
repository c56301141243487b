//! frontier.
