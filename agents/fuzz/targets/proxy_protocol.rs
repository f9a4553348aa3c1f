#![no_main]
//! See `fairlead_fuzz::proxy_protocol`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| fairlead_fuzz::proxy_protocol(data));
