mod behaviour;
mod languages;
mod properties;
mod reference;
mod synthetic;
