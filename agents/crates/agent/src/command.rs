//! Subcommands that run once and end, and the entry of the proxy.

mod bench;
mod check;
mod empty;
mod enrol;
mod inspect;
mod lab;
mod uninstall;

use std::error::Error;
use std::io::BufRead;
use std::process::ExitCode;

use crate::cli::{ProxyArgs, StaticArgs};
use crate::standalone;

pub(crate) use bench::bench;
pub(crate) use check::check;
pub(crate) use empty::{RemovalReport, empty};
pub(crate) use enrol::enrol;
pub(crate) use inspect::inspect;
pub(crate) use lab::lab;
pub(crate) use uninstall::{exec_uninstall, uninstall};

/// Result of a subcommand; `main` prints the error with its causes.
pub(crate) type CommandResult = Result<ExitCode, Box<dyn Error>>;

/// Serves from a configuration file, or with the sockets that the proxy supervisor passed. Creates its own threads and runtimes.
pub(crate) fn proxy(args: ProxyArgs) -> CommandResult {
    if args.hash_password {
        return hash_password();
    }
    match args.config {
        Some(config) if args.check => standalone::check(&config),
        Some(config) => standalone::serve(config),
        None => {
            fairlead_proxy::run(crate::VERSION, fairlead_proxy::Limits::default())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Serves a static site until a signal stops it. The app's supervisor owns the grace period.
pub(crate) fn serve_static(args: StaticArgs) -> CommandResult {
    let port = match args.port {
        Some(port) => port,
        None => std::env::var("PORT").map_err(|_| "PORT names no port")?.parse()?,
    };
    block_on(async {
        let shutdown = fairlead_base::shutdown::on_signal()?;
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
        tokio::select! {
            served = fairlead_site::serve(&args.folder, args.fallback.as_deref(), address) => served?,
            () = shutdown.cancelled() => {}
        }
        Ok(ExitCode::SUCCESS)
    })?
}

/// Reads the password from standard input: every user of the machine could read an argument.
fn hash_password() -> CommandResult {
    let mut password = String::new();
    std::io::stdin().lock().read_line(&mut password)?;
    let password = password.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        return Err("no password came on standard input".into());
    }
    println!("{}", fairlead_tls::hash_password(password.as_bytes()).map_err(|_| "the system gave no random bytes")?);
    Ok(ExitCode::SUCCESS)
}

/// Runs a future on a single-threaded runtime, for commands that wait for a few things.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> std::io::Result<T> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future))
}
