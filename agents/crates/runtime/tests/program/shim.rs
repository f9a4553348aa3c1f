//! Shim without the rest of the agent's binary, for the integration tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args_os().nth(1) {
        Some(command) if command == "shim" => fairlead_runtime::shim::main(std::env::args_os().skip(2)),
        _ => ExitCode::FAILURE,
    }
}
