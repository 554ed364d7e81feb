mod behaviour;
mod languages;
mod properties;
mod reference;
mod skipping;
mod synthetic;
