//! Snapshots of volumes: packs a folder with its owners, modes and links, and unpacks it into a new folder of another server.
//! Invariants: neither follows a link or crosses a mount, and an unpacked archive never reaches outside of its folder.

mod pack;
#[cfg(test)]
mod tests;
mod unpack;

use std::io;
use std::ops::RangeInclusive;
use std::path::Path;

use fairlead_base::CancellationToken;
use fairlead_model::Failure;

pub use pack::{PackedSnapshot, pack};
pub use unpack::unpack;

/// Maximum packed size: the limit of the artifact store.
pub const PACKED_BYTES_MAX: u64 = 8 << 30;
/// Maximum size of all files. Holes of sparse files count too.
const FILE_BYTES_MAX: u64 = 1 << 40;
const ENTRIES_MAX: u64 = 10_000_000;
/// Folders within folders: each holds a descriptor while it is packed.
const DEPTH_MAX: usize = 256;
/// Name of the app's own user and group in an archive: each server has another number for it.
const APP: &str = "app";
/// Bytes that are written between two looks at the disk's free space.
const DISK_STEP_BYTES: u64 = 64 << 20;

/// User of the volume's app on this server, and bounds.
#[derive(Debug, Clone)]
pub struct VolumeAccess<'a> {
    pub user: u32,
    pub group: u32,
    /// Users of all apps. Files of other apps' users are not packed or unpacked.
    pub app_users: RangeInclusive<u32>,
    /// Bytes that stay free on the disk.
    pub free_bytes_min: u64,
    pub cancel: &'a CancellationToken,
}

impl VolumeAccess<'_> {
    fn is_foreign(&self, id: u32) -> bool {
        self.app_users.contains(&id)
    }

    fn require_uncancelled(&self) -> Result<(), VolumeSnapshotError> {
        if self.cancel.is_cancelled() { Err(VolumeSnapshotError::Cancelled) } else { Ok(()) }
    }
}

/// Why there is no snapshot, or no volume of it.
#[derive(Debug, thiserror::Error)]
pub enum VolumeSnapshotError {
    #[error("It was cancelled.")]
    Cancelled,
    #[error("The server's disk has too little free space for it. Free some space, then try again.")]
    DiskFull,
    /// Too much for a snapshot.
    #[error("The volume is too large for a snapshot: {0}.")]
    TooLarge(String),
    /// The archive has an entry that no snapshot has.
    #[error("The snapshot was refused: {0}.")]
    Refused(String),
    #[error("The snapshot is damaged: its bytes do not have its digest.")]
    Damaged,
    #[error("The server could not read or write the volume's files ({0}).")]
    Server(#[source] io::Error),
}

impl VolumeSnapshotError {
    /// Returns the failure as it is reported.
    pub fn failure(&self) -> Failure {
        let code = match self {
            Self::Cancelled => "volume.cancelled",
            Self::DiskFull => "volume.disk_full",
            Self::TooLarge(_) => "volume.too_large",
            Self::Refused(_) | Self::Damaged => "volume.damaged",
            Self::Server(_) => "volume.server",
        };
        Failure { code: code.to_owned(), message: self.to_string() }
    }
}

impl From<io::Error> for VolumeSnapshotError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            // Readers and writers of this crate pass a `VolumeSnapshotError` through as an I/O error.
            _ => error.downcast::<Self>().unwrap_or_else(Self::Server),
        }
    }
}

impl From<rustix::io::Errno> for VolumeSnapshotError {
    fn from(error: rustix::io::Errno) -> Self {
        io::Error::from(error).into()
    }
}

/// Watches the free space of a disk while files are written to it.
struct FreeSpace<'a> {
    folder: &'a Path,
    bytes_min: u64,
    /// Bytes until the next look.
    left: u64,
}

impl<'a> FreeSpace<'a> {
    fn new(folder: &'a Path, bytes_min: u64) -> Self {
        Self { folder, bytes_min, left: 0 }
    }

    /// Counts bytes that are written next; fails if they would leave too little.
    fn take(&mut self, bytes: u64) -> Result<(), VolumeSnapshotError> {
        if let Some(left) = self.left.checked_sub(bytes) {
            self.left = left;
            return Ok(());
        }
        let disk = rustix::fs::statvfs(self.folder)?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        if free < self.bytes_min.saturating_add(bytes) {
            return Err(VolumeSnapshotError::DiskFull);
        }
        self.left = DISK_STEP_BYTES.min(free - self.bytes_min - bytes);
        Ok(())
    }
}

/// Returns the digest of a finished hash as `sha256:<hex>`.
fn digest_of(hash: aws_lc_rs::digest::Context) -> String {
    let hex: String = hash.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}
