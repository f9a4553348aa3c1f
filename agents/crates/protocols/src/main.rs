//! The protocol suites: every case by name, against a real proxy over real sockets. `fairlead-protocols [FILTER] [--list]`
//! speaks as a test program does; `stand` keeps a proxy up for suites of others (h2spec, Autobahn); `proxy` is a proxy.
//! Owns test traffic only. Never part of what is shipped. e2e/protocols runs it and counts.

// All of it is a test, and a program exports nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, unreachable_pub)]

mod case;
mod corpus;
mod door;
mod downgrade;
mod floods;
mod frames;
mod nginx;
mod reference;
mod smuggling;
mod stand;
mod status;
#[path = "../../proxy/tests/support/mod.rs"]
mod support;
mod tls;
mod websocket;

use std::process::ExitCode;

/// As in the agent, so that memory is measured as it is there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Many of them wait for a deadline most of their time.
const CASES_AT_ONCE: usize = 6;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("proxy") => {
            door::serve_few_descriptors();
            ExitCode::SUCCESS
        }
        Some("stand") => {
            let app = std::env::args().nth(2).map(|address| address.parse().unwrap());
            tokio::runtime::Runtime::new().unwrap().block_on(stand::run(app));
            ExitCode::SUCCESS
        }
        _ => {
            let mut arguments = libtest_mimic::Arguments::from_args();
            arguments.test_threads = arguments.test_threads.or(Some(CASES_AT_ONCE));
            let suites = [
                smuggling::trials(),
                downgrade::trials(),
                status::trials(),
                tls::trials(),
                websocket::trials(),
                floods::trials(),
            ];
            let trials = suites.into_iter().flatten().collect();
            libtest_mimic::run(&arguments, trials).exit_code()
        }
    }
}
