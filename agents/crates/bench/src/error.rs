//! Why a benchmark could not be finished, in words a person can act on.

use fairlead_model::Failure;

/// Why a benchmark could not be finished. Rows measured before it stand.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The app has nothing to send requests to.
    #[error("The app has no healthy instance to measure. Deploy it, then start a new run.")]
    NotRunning,
    /// No connection could be made, or nothing answered on those that were.
    #[error("The benchmark could not reach {target}: {detail}. Check that the app answers, then start a new run.")]
    Unreachable {
        /// Where the load was meant for.
        target: String,
        /// The last thing that went wrong.
        detail: String,
    },
    /// The plan, or a file it names, can't be used.
    #[error("The benchmark plan can't be used: {0}.")]
    Plan(String),
    /// This machine could not make the load.
    #[error("The benchmark could not make its load: {0}. Lower the concurrency, then start a new run.")]
    Generator(String),
    /// It was cancelled.
    #[error("The benchmark was cancelled.")]
    Cancelled,
}

impl BenchError {
    /// The failure to report.
    pub fn failure(&self) -> Failure {
        let code = match self {
            Self::NotRunning => "benchmark.app_not_running",
            Self::Unreachable { .. } => "benchmark.target_unreachable",
            Self::Plan(_) | Self::Generator(_) | Self::Cancelled => "benchmark.failed",
        };
        Failure { code: code.to_owned(), message: self.to_string() }
    }
}
