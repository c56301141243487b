#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::targets::mirror_name::check(data));
