//! The suite that every adapter runs beside that of the store port: several replicas on one store, and
//! batches whose writer died half-way.

mod batches;
mod replicas;

use recall_store::Namespace;

use crate::store::RowStore;

pub use replicas::{append, event, ids};

/// Opens one replica more of the same store.
pub type Open<'a> = dyn Fn() -> RowStore + Send + Sync + 'a;

/// The namespace in which the checks work.
///
/// # Panics
///
/// Never: the name is one.
#[must_use]
pub fn ns() -> Namespace {
    "team:blue".parse().expect("a namespace")
}

/// Runs every check, each on replicas that `fresh` opens of a store that holds nothing yet.
///
/// # Panics
///
/// When a check fails, naming what was expected.
pub async fn run<S, F>(fresh: impl Fn() -> (S, F))
where
    F: Fn() -> RowStore + Send + Sync,
{
    let (_kept, open) = fresh();
    replicas::what_one_replica_acknowledged_the_next_read_on_another_sees(&open).await;
    let (_kept, open) = fresh();
    replicas::a_reader_that_is_far_behind_catches_up_whole(&open).await;
    let (_kept, open) = fresh();
    replicas::a_replica_that_joins_or_leaves_takes_nothing_with_it(&open).await;
    let (_kept, open) = fresh();
    replicas::a_strangers_write_is_seen_within_the_freshness(&open).await;
    let (_kept, open) = fresh();
    replicas::a_lone_replica_tells_at_once_and_no_more_than_it_may(&open).await;
    let (_kept, open) = fresh();
    replicas::of_racing_updates_on_two_replicas_none_is_lost(&open).await;
    let (_kept, open) = fresh();
    batches::what_a_dead_process_left_out_is_written_by_the_next_reader(&open).await;
    let (_kept, open) = fresh();
    batches::a_leftover_of_a_failed_batch_is_in_nobodys_way(&open).await;
}
