//! The ownership checker: agents, pods, servers and clients under faults, everything that they did
//! and were told put down, and proved from that alone that every agent had one owner at a time.
//!
//! * [`cast`] plays the agents, [`actor`] is one process of one, [`hand`] is that process;
//! * [`faults`] says what goes wrong and does it, [`ground`] is what it is done to, [`proxy`] the
//!   network in between;
//! * [`log`] is what they did, [`stored`] what is there in the end, [`proof`] judges both.

pub mod actor;
pub mod cast;
pub mod dice;
pub mod faults;
pub mod ground;
pub mod hand;
pub mod log;
pub mod proof;
pub mod proxy;
pub mod stored;
