//! Latency histograms, and what a host, a process tree and a cgroup use.
//! Owns numbers and where the kernel keeps them. Never sends, stores or formats them, and never walks all processes in a tick.

mod histogram;
mod host;
mod kernel_file;
mod process;

pub use histogram::{BUCKETS, Histogram, HistogramError, VALUE_MAX_US, bucket_index, bucket_lower_us, bucket_upper_us};
pub use host::{HostSample, HostSampler};
pub use process::{ProcessSample, ProcessSampler, cpu_time_of, pss_bytes_of};

/// What a sampler could not read.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// The file is not there or may not be read.
    #[error("cannot read {path}: {source}")]
    Read {
        path: std::path::PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// The file does not hold what this kernel interface promises.
    #[error("{path} has no usable `{field}`")]
    Field {
        path: std::path::PathBuf,
        /// What was looked for.
        field: &'static str,
    },
}
