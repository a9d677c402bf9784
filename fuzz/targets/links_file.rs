#![no_main]
#![allow(missing_docs, dead_code, reason = "one body of many")]

#[path = "../bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bodies::links_file(bytes));
