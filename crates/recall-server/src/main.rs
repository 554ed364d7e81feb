//! `recall-server`: see `recall-server --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    recall_server::main(std::env::args_os(), std::env::vars_os())
}
