//! What the targets share: a server in this process, and requests as text.

mod request;
mod server;

pub use request::{Request, requests};
pub use server::{Answer, Server, Story, config};

/// Runs `task` on this thread alone, and ends with it whatever it left running: an input replays, and
/// the next one finds nothing of it.
pub fn run<T>(task: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime of this thread");
    runtime.block_on(task)
}
