//! The fairlead-agent binary: picks the subcommand and wires the crates together. Decides nothing itself.

mod cli;
mod command;
mod host_info;
mod metrics;
mod run;
mod standalone;
mod upgrade;

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use fairlead_base::error::chain;
use tracing_subscriber::EnvFilter;

use cli::{Cli, Command};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// This agent's version, as it is reported and printed.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Marker from which a control plane reads the version of a program for another machine, which it can't run.
const VERSION_MARK: &str = concat!("fairlead-agent-version=", env!("CARGO_PKG_VERSION"), ";");

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    // A shim forks: it must not have threads, a runtime or a log of its own before.
    if arguments.nth(1).as_deref() == Some(OsStr::new("shim")) {
        leave_agent_unit();
        return fairlead_runtime::shim::main(arguments);
    }
    let cli = Cli::parse();
    log_to_stderr();
    let done = match cli.command {
        Command::Run(args) => run::main(args),
        Command::Proxy(args) => {
            leave_agent_unit();
            command::proxy(args)
        }
        Command::Enrol(args) => command::enrol(args),
        Command::Uninstall(args) => command::uninstall(args),
        Command::Bench(args) => command::bench(args),
        Command::Lab(args) => command::lab(args),
        Command::Check(args) => command::check(args),
        Command::Inspect(args) => command::inspect(args),
        Command::Static(args) => command::serve_static(args),
        Command::Trial(args) => upgrade::trial(args),
        Command::Guard(args) => upgrade::guard(args),
        Command::Empty => command::empty(),
        Command::Version => {
            // Keeps the marker in the binary: a linker drops unused data.
            std::hint::black_box(VERSION_MARK);
            println!("fairlead-agent {VERSION}");
            Ok(ExitCode::SUCCESS)
        }
    };
    done.unwrap_or_else(|error| {
        eprintln!("fairlead-agent: {}", chain(error.as_ref()));
        ExitCode::FAILURE
    })
}

/// Leaves the agent's systemd unit. A failure is harmless, but systemd then reports left-over processes when it restarts the
/// unit.
fn leave_agent_unit() {
    if let Err(error) = fairlead_base::cgroup::leave_agent_unit() {
        eprintln!("fairlead-agent: still in the agent's own unit: {error}");
    }
}

fn log_to_stderr() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        // The proxy outlives the reader of its log: a closed pipe must not become a panic.
        .log_internal_errors(false)
        .init();
}
