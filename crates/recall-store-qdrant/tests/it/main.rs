//! The adapter against a Qdrant: the stand-in of `tests/qdrant`, or a real server.

mod qdrant_real;
