//! Fakes and helpers for tests and for the simulated demo.
