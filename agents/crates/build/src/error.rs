//! Why a build failed, as a sentence that says what to do, with its code of the contract's error table.

use std::io;
use std::time::Duration;

use fairlead_inspect::InspectError;
use fairlead_model::Failure;

use crate::ReadingError;

/// A build that made nothing.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Desired state no longer asks for it.
    #[error("The build was cancelled.")]
    Cancelled,
    /// It took longer than it may.
    #[error("The build took longer than {} min, while it {doing}. Make that quicker, or look in the log for what it waits for.", minutes(.limit))]
    Timeout {
        /// Time limit of the build.
        limit: Duration,
        /// Activity at the time limit, as words after "it".
        doing: String,
    },
    /// The repository can't be read.
    #[error("{0}")]
    Clone(String),
    /// It has no such branch, tag or commit.
    #[error("{0}")]
    RefNotFound(String),
    /// It has no such folder.
    #[error("{0}")]
    RootFolderMissing(String),
    /// The builder knows no framework or language in the repository.
    #[error("{0}")]
    NotDetected(String),
    /// A committed fairlead.toml, Procfile or the like has a mistake.
    #[error("{0}")]
    Manifest(String),
    /// The process that reads the repository's files gave no plan.
    #[error(
        "The repository's files can't be read for a plan: {0}. Look for a damaged or very large file that names packages or settings, then deploy again."
    )]
    Reading(#[from] ReadingError),
    /// A command failed for an unknown reason.
    #[error("{0}")]
    Command(String),
    /// A command failed for a reason that its output tells.
    #[error("{sentence}")]
    Diagnosed {
        /// Code in the contract's error table.
        code: &'static str,
        /// The failing line and the next step.
        sentence: String,
    },
    /// The build made nothing to serve.
    #[error("{0}")]
    OutputMissing(String),
    /// A runtime that the files ask for can't be had.
    #[error("{0}")]
    Toolchain(String),
    /// The Dockerfile did not make an image, or the image can't be had.
    #[error("{0}")]
    Container(String),
    /// The upload can't be used.
    #[error("{0}")]
    Upload(String),
    /// Its secrets can't be opened here.
    #[error(
        "The secrets of the build can't be opened on this server: {0}. Deploy again; if that does not help, set them anew."
    )]
    Secrets(String),
    /// It used more memory than it may.
    #[error("The build needed more than its {} MiB of memory, while it {doing}. Give builds more memory in the settings, or make it need less.", .limit_bytes >> 20)]
    OutOfMemory {
        /// Limit of the build in bytes.
        limit_bytes: u64,
        /// Activity at the limit, as words after "it".
        doing: String,
    },
    /// It used more of the disk than it may.
    #[error("The build wrote more than the {} MiB that it and its cache may hold, while it {doing}. Let it write less, or give builds more room in the settings.", .limit_bytes >> 20)]
    TooLarge {
        /// Limit of the build in bytes.
        limit_bytes: u64,
        /// Activity at the limit, as words after "it".
        doing: String,
    },
    /// The server's disk is full.
    #[error("The server's disk is full, so the build could not go on. Free some space on it, then redeploy.")]
    DiskFull,
    /// The server itself could not do it.
    #[error("The build could not run on this server: {what} failed ({source}).")]
    Server {
        /// Operation that failed, as words for the message.
        what: &'static str,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
}

impl From<InspectError> for BuildError {
    fn from(error: InspectError) -> Self {
        match error {
            InspectError::NotDetected(sentence) | InspectError::InFolders { sentence, .. } => {
                Self::NotDetected(sentence)
            }
            InspectError::Manifest(sentence) => Self::Manifest(sentence),
        }
    }
}

impl BuildError {
    /// Names what was tried; a full disk has its own sentence wherever it shows.
    pub(crate) fn server(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            _ => Self::Server { what, source },
        }
    }

    /// The failure as it is reported.
    pub fn failure(&self) -> Failure {
        let code = match self {
            Self::Cancelled => "build.cancelled",
            Self::Timeout { .. } => "build.timeout",
            Self::Clone(_) => "build.clone_failed",
            Self::RefNotFound(_) => "build.ref_not_found",
            Self::RootFolderMissing(_) => "build.root_folder_missing",
            Self::NotDetected(_) => "build.not_detected",
            Self::Manifest(_) => "build.manifest_invalid",
            Self::Reading(_) => "build.plan_failed",
            Self::Command(_) => "build.command_failed",
            Self::Diagnosed { code, .. } => code,
            Self::OutputMissing(_) => "build.output_missing",
            Self::Toolchain(_) => "build.toolchain_missing",
            Self::Container(_) => "build.container_failed",
            Self::Upload(_) => "build.upload_unusable",
            Self::Secrets(_) => "build.secrets_unreadable",
            Self::OutOfMemory { .. } => "build.out_of_memory",
            Self::TooLarge { .. } => "build.too_large",
            Self::DiskFull => "build.disk_full",
            Self::Server { .. } => "build.internal",
        };
        Failure { code: code.to_owned(), message: self.to_string() }
    }
}

fn minutes(limit: &Duration) -> String {
    let minutes = limit.as_secs_f64() / 60.0;
    if minutes.fract() == 0.0 { format!("{minutes:.0}") } else { format!("{minutes:.1}") }
}
