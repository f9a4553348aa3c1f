//! File of /proc, /sys or a cgroup, kept open and read again from its start. Invariant: a read needs no path lookup and, after
//! the first, no allocation.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::SampleError;

/// Open kernel file and the text of its last read.
#[derive(Debug)]
pub(crate) struct KernelFile {
    path: PathBuf,
    file: File,
    text: Vec<u8>,
}

impl KernelFile {
    pub(crate) fn open(path: impl Into<PathBuf>) -> Result<Self, SampleError> {
        let path = path.into();
        match File::open(&path) {
            Ok(file) => Ok(Self { path, file, text: Vec::with_capacity(1024) }),
            Err(source) => Err(SampleError::Read { path, source }),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the whole file again. Kernel files are text; a non-ASCII byte can only occur in a name, which no caller searches
    /// for.
    pub(crate) fn read(&mut self) -> Result<&str, SampleError> {
        let mut filled = 0;
        loop {
            if self.text.len() < filled + 1024 {
                self.text.resize(filled + 4096, 0);
            }
            match self.file.read_at(&mut self.text[filled..], filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(source) => return Err(SampleError::Read { path: self.path.clone(), source }),
            }
        }
        let text = &self.text[..filled];
        let valid = match std::str::from_utf8(text) {
            Ok(text) => return Ok(text),
            Err(error) => error.valid_up_to(),
        };
        Ok(std::str::from_utf8(&text[..valid]).unwrap_or_default())
    }

    /// Reads the number after `name` at the start of a line, as in /proc/meminfo and a cgroup's `*.stat` files.
    pub(crate) fn field(&mut self, name: &'static str) -> Result<u64, SampleError> {
        let found = field(self.read()?, name);
        found.ok_or_else(|| SampleError::Field { path: self.path.clone(), field: name })
    }

    /// Reads a file that consists of one number.
    pub(crate) fn number(&mut self) -> Result<u64, SampleError> {
        let found = self.read()?.trim().parse().ok();
        found.ok_or_else(|| SampleError::Field { path: self.path.clone(), field: "number" })
    }
}

/// Returns the number after `name` at the start of a line.
pub(crate) fn field(text: &str, name: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.trim_start_matches(':').split_ascii_whitespace().next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changed_is_read_anew_from_its_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory.stat");
        std::fs::write(&path, "anon 12\nfile 4\n").unwrap();
        let mut file = KernelFile::open(&path).unwrap();
        assert_eq!(file.field("file").unwrap(), 4);
        std::fs::write(&path, format!("anon 7\n{}file 9\n", "pad 1\n".repeat(2000))).unwrap();
        assert_eq!(file.field("anon").unwrap(), 7);
        assert_eq!(file.field("file").unwrap(), 9);
        assert!(matches!(file.field("none"), Err(SampleError::Field { field: "none", .. })));
    }
}
