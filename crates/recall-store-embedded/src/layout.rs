//! Tables and how names become their keys.

use redb::TableDefinition;

/// Facts about the file: `format`, and `probed`, the Unix second of the last write that only tried whether
/// there is room.
pub(crate) const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
/// Namespace → its number in this file.
pub(crate) const NAMESPACES: TableDefinition<'_, &str, u32> = TableDefinition::new("namespaces");
/// Number → (log revision, record writes so far).
pub(crate) const HEADS: TableDefinition<'_, u32, (u64, u64)> = TableDefinition::new("heads");
/// (number, revision) → (event id, body).
pub(crate) const EVENTS: TableDefinition<'_, (u32, u64), (&str, &[u8])> =
    TableDefinition::new("events");
/// (number, fingerprint of an event id, revision): where the log may hold that id.
pub(crate) const EVENT_PLACES: TableDefinition<'_, (u32, u64, u64), ()> =
    TableDefinition::new("event_places");
/// Number → the revision up to which `EVENT_PLACES` knows the log.
pub(crate) const INDEXED: TableDefinition<'_, u32, u64> = TableDefinition::new("indexed");
/// (number, kind, key) → (version, body).
pub(crate) const RECORDS: TableDefinition<'_, (u32, u8, &str), (u64, &[u8])> =
    TableDefinition::new("records");
/// (number, lease) → (epoch, holder, expiry in Unix microseconds, released).
pub(crate) const LEASES: TableDefinition<'_, (u32, &str), (u64, &str, i64, bool)> =
    TableDefinition::new("leases");

/// Of format 1, which had (number, event id) → revision for every event.
pub(crate) const OLD_EVENT_IDS: TableDefinition<'_, (u32, &str), u64> =
    TableDefinition::new("event_ids");
