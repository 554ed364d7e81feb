//! How many small events redb alone makes durable a second, so many of them a commit: the bound of
//! the store's rate on a machine. Prints the events a second.

use std::io::Write;
use std::time::{Duration, Instant};

use redb::{Database, TableDefinition};

const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
/// About what a remembered statement takes.
const BODY: [u8; 400] = [b'x'; 400];
/// As the store sets it.
const CACHE_BYTES: usize = 8 * 1024 * 1024;
const TIME: Duration = Duration::from_secs(2);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: group_commit DIR EVENTS_A_COMMIT";
    let dir = arguments.next().expect(usage);
    let group = arguments.next().and_then(|text| text.parse().ok());
    let file = std::path::Path::new(&dir).join("group.redb");
    // Each run begins with an empty file; there is none to remove the first time.
    let _ = std::fs::remove_file(&file);
    let mut builder = Database::builder();
    let database = builder.set_cache_size(CACHE_BYTES).create(file);
    let rate = events_a_second(&database.expect("a new database"), group.expect(usage));
    writeln!(std::io::stdout(), "{rate:.0}").expect("stdout is open");
}

fn events_a_second(database: &Database, group: u64) -> f64 {
    let began = Instant::now();
    let mut events = 0;
    while began.elapsed() < TIME {
        commit(database, events..events + group).expect("a commit");
        events += group;
    }
    events as f64 / began.elapsed().as_secs_f64()
}

fn commit(database: &Database, events: std::ops::Range<u64>) -> Result<(), redb::Error> {
    let write = database.begin_write()?;
    {
        let mut log = write.open_table(LOG)?;
        for event in events {
            log.insert(event, &BODY[..])?;
        }
    }
    write.commit()?;
    Ok(())
}
