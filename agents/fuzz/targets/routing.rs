#![no_main]
//! See `fairlead_fuzz::routing`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| fairlead_fuzz::routing(data));
