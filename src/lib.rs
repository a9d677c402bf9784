//! `roce_exporter`: a Prometheus exporter for lossless Ethernet.
//!
//! Data flows one way, each arrow a plain value:
//!
//! ```text
//! kernel ──▶ source ──Sample──▶ engine ──Snapshot──▶ export ──text──▶ http
//!            (reads)            (pure: judges)       (encodes)        (serves)
//! ```
//!
//! [`model`] holds the words that all rooms share, [`catalogue`] the drivers' counter names as data,
//! [`sampler`] decides when to read, [`record`] keeps raw readings in a file, [`pair`] compares two
//! exporters from outside, [`config`] turns flags and files
//! into checked settings, and [`app`] wires the rooms together. A layer knows only the data of its left neighbour.

pub mod app;
pub mod build_info;
pub mod catalogue;
pub mod config;
pub mod engine;
pub mod export;
pub mod http;
pub mod log;
pub mod model;
pub mod pair;
pub mod record;
pub mod sampler;
pub mod source;
