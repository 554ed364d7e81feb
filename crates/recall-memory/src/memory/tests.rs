//! The engine as its callers see it.

mod currency;
mod edges;
mod isolation;
mod rebuild;
mod search;
mod spelling;
mod support;
mod text;
mod together;
mod typed;
mod when;
