//! The whole server over loopback.

mod keys;
mod lifecycle;
mod limits;

#[cfg(feature = "k8s")]
mod k8s;
