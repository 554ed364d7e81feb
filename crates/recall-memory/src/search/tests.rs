mod reference;
mod synthetic;
