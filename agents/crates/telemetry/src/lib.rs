//! Latency histograms, and samplers of a host, a process tree and a cgroup. Never sends, stores or formats values, and never
//! walks all processes.

mod histogram;
mod host;
mod kernel_file;
mod machine;
mod process;

pub use histogram::{BUCKETS, Histogram, HistogramError, VALUE_MAX_US, bucket_index, bucket_lower_us, bucket_upper_us};
pub use host::{HostSample, HostSampler};
pub use machine::{MachineCpu, cpu_frequency_khz};
pub use process::{ProcessSample, ProcessSampler, cpu_time_of, pss_bytes_of, tree_cpu_time_of, tree_of};

/// Error of a sampler.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// The file does not exist or is not readable.
    #[error("cannot read {path}: {source}")]
    Read {
        path: std::path::PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// The file lacks a field of this kernel interface.
    #[error("{path} has no usable `{field}`")]
    Field {
        path: std::path::PathBuf,
        /// Name of the missing field.
        field: &'static str,
    },
}
