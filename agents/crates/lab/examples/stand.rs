//! Certificate and backend app for side-by-side proxy benchmarks (e2e/perf/proxy.ts). `stand certificate FOLDER`
//! creates their shared certificate; `stand app BYTES [SOCKET]` answers with bodies of this size until its standard
//! input ends.

use std::io::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairlead_lab::{HOST, issue, run_app};
use fairlead_model::LabApp;

type Fault = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "stand certificate FOLDER | stand app BYTES [SOCKET]";

fn main() -> Result<(), Fault> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or_else(|| Error::other(USAGE));
    match next()?.as_str() {
        "certificate" => {
            issue(Path::new(&next()?), HOST)?;
        }
        "app" => {
            let response_bytes = next()?.parse()?;
            let settings = LabApp {
                response_bytes,
                response_delay: Duration::ZERO,
                error_every: 0,
                serves_probes: false,
                speaks_grpc: false,
            };
            run_app(settings, next().ok().map(PathBuf::from).as_deref())?;
        }
        _ => return Err(Error::other(USAGE).into()),
    }
    Ok(())
}
