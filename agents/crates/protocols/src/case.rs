//! A case: a name and a future that panics when it fails. All share one runtime; none may run for ever.

use std::future::Future;
use std::sync::LazyLock;
use std::time::Duration;

use libtest_mimic::Trial;
use tokio::runtime::Runtime;

/// Far beyond what any case takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(120);

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// Whether the counts of `check:protocols` are wanted instead of those of `npm test`.
pub fn is_long() -> bool {
    static LONG: LazyLock<bool> = LazyLock::new(|| std::env::var_os("FAIRLEAD_PROTOCOLS_LONG").is_some());
    *LONG
}

/// A count: small in `npm test`, `times` as many in `check:protocols`.
pub fn count(short: usize, times: usize) -> usize {
    if is_long() { short * times } else { short }
}

/// A case named `suite/name`.
pub fn case<F: Future<Output = ()>>(
    suite: &str,
    name: impl AsRef<str>,
    work: impl FnOnce() -> F + Send + 'static,
) -> Trial {
    Trial::test(format!("{suite}/{}", name.as_ref()), move || {
        RUNTIME.block_on(async { tokio::time::timeout(PATIENCE, work()).await }).map_err(|_| "took too long".into())
    })
}
