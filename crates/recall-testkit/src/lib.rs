//! Parts for tests: processes that end with their test.

pub mod process;
