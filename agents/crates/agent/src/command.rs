//! The subcommands that run once and end, and the proxy's entry.

mod bench;
mod check;
mod enrol;

use std::error::Error;
use std::process::ExitCode;

pub(crate) use bench::bench;
pub(crate) use check::check;
pub(crate) use enrol::enrol;

/// What a subcommand ends with; the error is printed with its causes.
pub(crate) type Outcome = Result<ExitCode, Box<dyn Error>>;

/// Serves with the sockets that `run` passed; makes its own threads and runtimes.
pub(crate) fn proxy() -> Outcome {
    fairlead_proxy::run(crate::VERSION)?;
    Ok(ExitCode::SUCCESS)
}

/// A runtime for a command that waits for a few things on one thread.
fn block_on<T>(future: impl Future<Output = T>) -> std::io::Result<T> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future))
}
