#![no_main]
//! See `fairlead_fuzz::chunked`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| fairlead_fuzz::chunked(data));
