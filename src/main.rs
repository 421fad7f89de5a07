//! The binary: an allocator, and the program of the library.

use std::process::ExitCode;

/// Returns memory soon after a peak, whichever thread allocated it; glibc's does not.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    sessiond::main()
}
