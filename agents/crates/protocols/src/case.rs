//! Test case of the protocol suites: a name and a future that panics on failure. All share one runtime, and each has a
//! timeout.

use std::future::Future;
use std::sync::LazyLock;
use std::time::Duration;

use libtest_mimic::Trial;
use tokio::runtime::Runtime;

/// Timeout of a case: far longer than any takes on a loaded machine.
const CASE_TIMEOUT: Duration = Duration::from_secs(120);

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// True if the longer counts of `check:protocols` apply, instead of those of `npm test`.
pub fn is_long() -> bool {
    static LONG: LazyLock<bool> = LazyLock::new(|| std::env::var_os("FAIRLEAD_PROTOCOLS_LONG").is_some());
    *LONG
}

/// Returns a count: small in `npm test`, `times` as many in `check:protocols`.
pub fn count(short: usize, times: usize) -> usize {
    if is_long() { short * times } else { short }
}

/// Creates a case named `suite/name`.
pub fn case<F: Future<Output = ()>>(
    suite: &str,
    name: impl AsRef<str>,
    work: impl FnOnce() -> F + Send + 'static,
) -> Trial {
    Trial::test(format!("{suite}/{}", name.as_ref()), move || {
        RUNTIME.block_on(async { tokio::time::timeout(CASE_TIMEOUT, work()).await }).map_err(|_| "took too long".into())
    })
}
