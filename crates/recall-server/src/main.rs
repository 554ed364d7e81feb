//! `recall-server`: see `recall-server --help`.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// See docs/decisions/0019-allocator.md.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    recall_server::main(std::env::args_os(), std::env::vars_os())
}
