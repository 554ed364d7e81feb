//! Resume: an agent's half-finished work, kept outside its process and owned by one session at a
//! time.
//!
//! A [`Session`] is a pod, a named session of keys, or a single key; never a server process. It owns
//! an agent through a lease of the store, and every write of its carries the lease's epoch as a
//! fence, so an owner that was replaced can no longer write, wherever and however late it tries.
//! Any server over the same store serves any call of the owner: what is known of an agent is in its
//! records alone.
//!
//! * `session`, `error`, `tool`, `args`, `limits`: the edge.
//! * `head`, `objects`, `records`: what is kept, and how.
//! * `working`, `turns`, `outputs`, `pointers`, `actions`, `ownership`, `briefing`: what follows from
//!   it. Pure.
//! * `agents`, `change`, `hold`, `recount`: the rim that talks to the store.
//! * `renewal`, `roster`, `watch`: keeping leases up between calls, and past the end of a server.
//! * `operator`, `ledger`, `weight`: what operators see and bound.

mod actions;
mod agents;
mod args;
mod briefing;
mod change;
mod context;
mod error;
mod head;
mod hold;
mod ledger;
pub mod limits;
mod objects;
mod operator;
mod outputs;
mod ownership;
mod pointers;
mod records;
mod recount;
mod renewal;
mod roster;
mod session;
mod tool;
mod turns;
mod watch;
mod weight;
mod working;

pub use agents::Agents;
pub use error::Error;
pub use ledger::Metrics;
pub use operator::AgentPage;
pub use session::{Life, Liveness, Session, SessionKind};
pub use tool::Tool;
