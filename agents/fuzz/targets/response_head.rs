#![no_main]
//! See `fairlead_fuzz::response_head`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| fairlead_fuzz::response_head(data));
