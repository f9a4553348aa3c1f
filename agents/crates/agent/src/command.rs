//! The subcommands that run once and end, and the proxy's entry.

mod bench;
mod check;
mod empty;
mod enrol;
mod inspect;

use std::error::Error;
use std::io::BufRead;
use std::process::ExitCode;

use crate::alone;
use crate::cli::{ProxyArgs, StaticArgs};

pub(crate) use bench::bench;
pub(crate) use check::check;
pub(crate) use empty::{Emptied, empty};
pub(crate) use enrol::enrol;
pub(crate) use inspect::inspect;

/// What a subcommand ends with; the error is printed with its causes.
pub(crate) type Outcome = Result<ExitCode, Box<dyn Error>>;

/// Serves by a file, or with the sockets that a keeper passed; makes its own threads and runtimes.
pub(crate) fn proxy(args: ProxyArgs) -> Outcome {
    if args.hash_password {
        return hash_password();
    }
    match args.config {
        Some(config) if args.check => alone::check(&config),
        Some(config) => alone::serve(config),
        None => {
            fairlead_proxy::run(crate::VERSION, fairlead_proxy::Limits::default())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Serves a site until it is asked to stop; the app's own grace is the supervisor's.
pub(crate) fn serve_static(args: StaticArgs) -> Outcome {
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

/// A password never is an argument, which everybody on the machine could read.
fn hash_password() -> Outcome {
    let mut password = String::new();
    std::io::stdin().lock().read_line(&mut password)?;
    let password = password.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        return Err("no password came on standard input".into());
    }
    println!("{}", fairlead_tls::hash_password(password.as_bytes()).map_err(|_| "the system gave no random bytes")?);
    Ok(ExitCode::SUCCESS)
}

/// A runtime for a command that waits for a few things on one thread.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> std::io::Result<T> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future))
}
