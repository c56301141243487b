//! What may be typed is understood, and a mistake is explained.

use super::*;
use crate::domain::cases::rows;

fn typed(line: &str) -> Result<Cli, CliError> {
    Cli::try_parse_from(line.split(' ')).map_err(|e| explain(&e).unwrap_err())
}

#[test]
fn the_arguments_are_well_defined() {
    <Cli as clap::CommandFactory>::command().debug_assert();
}

#[test]
fn what_may_be_typed_is_understood_and_a_mistake_is_one_line_that_names_it() {
    for row in rows(include_str!("../../../tests/data/cli/typed.txt"), 2) {
        match (typed(row.cells[0]), row.cells[1]) {
            (Ok(_), wanted) => assert_eq!(wanted, "understood", "{}", row.text),
            (Err(error), part) => {
                assert_eq!(error.exit, Exit::Usage);
                assert!(error.message.contains(part) && !error.message.contains('\n'), "{error}");
            }
        }
    }
}
