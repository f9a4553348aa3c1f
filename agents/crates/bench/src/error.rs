//! Errors of benchmarks, with sentences that tell a person what to do.

use fairlead_model::Failure;

/// Reason why a benchmark failed. Rows measured before it stay valid.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The app has no healthy instance.
    #[error("The app has no healthy instance to measure. Deploy it, then start a new run.")]
    NotRunning,
    /// The target accepted no connection or sent no response.
    #[error("The benchmark could not reach {target}: {detail}. Check that the app answers, then start a new run.")]
    Unreachable {
        /// Address of the target.
        target: String,
        detail: String,
    },
    /// The plan or a file that it names is invalid.
    #[error("The benchmark plan can't be used: {0}.")]
    Plan(String),
    /// This machine could not generate the load.
    #[error("The benchmark could not make its load: {0}. Lower the concurrency, then start a new run.")]
    Generator(String),
    /// The programs of the lab can't be started.
    #[error("{0}. Free disk space and memory on the server, then start a new run.")]
    Lab(String),
    /// The event of a scenario did not happen.
    #[error("The event of the scenario failed: {0}. The rows measured before it stay. Start a new run.")]
    Event(String),
    /// Scenario that this server can't run.
    #[error("This server can't run the scenario: {0}. Choose another scenario, or another server.")]
    Refused(String),
    /// A copy of the app's release can't start, or has ended.
    #[error("A copy of the release can't be measured: {0}.")]
    Copy(String),
    /// Failure of the emulated link between clients and proxies.
    #[error("The link between clients and proxies failed: {0}. The rows measured before it stay. Start a new run.")]
    Link(String),
    /// Failure of this server's part in a distributed run.
    #[error("{0}. Earlier rows stay. Start a new run.")]
    Part(String),
    #[error("The benchmark was cancelled.")]
    Cancelled,
}

impl BenchError {
    /// Returns the failure for the report.
    pub fn failure(&self) -> Failure {
        let code = match self {
            Self::NotRunning => "benchmark.app_not_running",
            Self::Unreachable { .. } => "benchmark.target_unreachable",
            Self::Plan(_)
            | Self::Generator(_)
            | Self::Lab(_)
            | Self::Event(_)
            | Self::Refused(_)
            | Self::Copy(_)
            | Self::Link(_)
            | Self::Part(_)
            | Self::Cancelled => "benchmark.failed",
        };
        Failure { code: code.to_owned(), message: self.to_string() }
    }
}
