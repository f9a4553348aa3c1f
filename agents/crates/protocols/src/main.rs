//! Protocol conformance suites against a real proxy over real sockets: `fairlead-protocols [FILTER] [--list]` runs them
//! like a test binary. `stand` runs a proxy for foreign suites (h2spec, Autobahn); `proxy` is a proxy. Never shipped.

// The whole program is a test and exports nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, unreachable_pub)]

mod case;
mod corpus;
mod downgrade;
mod floods;
mod frames;
mod nginx;
mod proxy_endpoint;
mod reference;
mod smuggling;
mod status;
#[path = "../../proxy-tests/tests/support/mod.rs"]
mod support;
mod test_server;
mod tls;
mod websocket;

use std::process::ExitCode;

/// Same allocator as the agent, so that memory measurements match.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Many cases spend most of their time waiting for a timeout.
const CASES_AT_ONCE: usize = 6;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("proxy") => {
            proxy_endpoint::serve_few_descriptors();
            ExitCode::SUCCESS
        }
        Some("stand") => {
            let app = std::env::args().nth(2).map(|address| address.parse().unwrap());
            tokio::runtime::Runtime::new().unwrap().block_on(test_server::run(app));
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
