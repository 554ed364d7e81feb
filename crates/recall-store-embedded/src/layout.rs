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
/// (number, event id) → revision.
pub(crate) const EVENT_IDS: TableDefinition<'_, (u32, &str), u64> =
    TableDefinition::new("event_ids");
/// (number, kind, key) → (version, body).
pub(crate) const RECORDS: TableDefinition<'_, (u32, u8, &str), (u64, &[u8])> =
    TableDefinition::new("records");
/// (number, lease) → (epoch, holder, expiry in Unix microseconds, released).
pub(crate) const LEASES: TableDefinition<'_, (u32, &str), (u64, &str, i64, bool)> =
    TableDefinition::new("leases");
