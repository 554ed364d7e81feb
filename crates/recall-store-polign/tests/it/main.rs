//! The adapter against a real polign_db.

mod polign_real;
