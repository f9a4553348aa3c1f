#![no_main]
//! See `fairlead_fuzz::policy`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| fairlead_fuzz::policy(data));
