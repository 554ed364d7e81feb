//! The tables of one write transaction.

use recall_store::Error;
use redb::{Key, Table, TableDefinition, Value, WriteTransaction};

use crate::layout;
use crate::read::broken;

/// Tables that all jobs of a transaction share: opening one is a search of its own, and redb opens none
/// twice.
pub(crate) struct Tables<'t> {
    pub(crate) meta: Lazy<'t, &'static str, u64>,
    pub(crate) namespaces: Lazy<'t, &'static str, u32>,
    pub(crate) heads: Lazy<'t, u32, (u64, u64)>,
    pub(crate) events: Lazy<'t, (u32, u64), (&'static str, &'static [u8])>,
    pub(crate) places: Lazy<'t, (u32, u64, u64), ()>,
    pub(crate) indexed: Lazy<'t, u32, u64>,
    pub(crate) records: Lazy<'t, (u32, u8, &'static str), (u64, &'static [u8])>,
    pub(crate) leases: Lazy<'t, (u32, &'static str), (u64, &'static str, i64, bool)>,
}

/// A table that is opened when it is first asked for.
pub(crate) struct Lazy<'t, K: Key + 'static, V: Value + 'static> {
    write: &'t WriteTransaction,
    definition: TableDefinition<'static, K, V>,
    table: Option<Table<'t, K, V>>,
}

impl<'t> Tables<'t> {
    pub(crate) fn new(write: &'t WriteTransaction) -> Self {
        Self {
            meta: Lazy::new(write, layout::META),
            namespaces: Lazy::new(write, layout::NAMESPACES),
            heads: Lazy::new(write, layout::HEADS),
            events: Lazy::new(write, layout::EVENTS),
            places: Lazy::new(write, layout::EVENT_PLACES),
            indexed: Lazy::new(write, layout::INDEXED),
            records: Lazy::new(write, layout::RECORDS),
            leases: Lazy::new(write, layout::LEASES),
        }
    }
}

impl<'t, K: Key + 'static, V: Value + 'static> Lazy<'t, K, V> {
    fn new(write: &'t WriteTransaction, definition: TableDefinition<'static, K, V>) -> Self {
        Self {
            write,
            definition,
            table: None,
        }
    }

    /// The table.
    ///
    /// # Errors
    ///
    /// As [`broken`] words redb's own.
    pub(crate) fn open(&mut self) -> Result<&mut Table<'t, K, V>, Error> {
        match &mut self.table {
            Some(table) => Ok(table),
            closed => Ok(closed.insert(self.write.open_table(self.definition).map_err(broken)?)),
        }
    }
}
