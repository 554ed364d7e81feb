//! The engine as its callers see it.

mod counts;
mod currency;
mod edges;
mod extraction;
mod isolation;
mod late;
mod limits;
mod order;
mod outdated;
mod pages;
mod quota;
mod rebuild;
mod repeats;
mod search;
mod sessions;
mod spelling;
mod support;
mod text;
mod together;
mod truth;
mod typed;
mod vectors;
mod when;
