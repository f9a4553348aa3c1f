#![no_main]
//! See `fairlead_fuzz::request_head`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| fairlead_fuzz::request_head(data));
