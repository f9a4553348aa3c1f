//! Waits for a program file that was just written. Another thread may have forked while it was open for writing; until that
//! child becomes another program, the kernel answers `ETXTBSY`.

use std::time::{Duration, Instant};
use std::{io, thread};

/// A child holds the handle for less than a millisecond; a machine under load can stretch that.
pub const LIMIT: Duration = Duration::from_secs(10);
pub const PAUSE: Duration = Duration::from_millis(20);

/// Blocks and tries again for up to `LIMIT` while the program is busy; returns every other result at once.
pub fn retry<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let until = Instant::now() + LIMIT;
    loop {
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && Instant::now() < until => {
                thread::sleep(PAUSE);
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_program_starts_once_nobody_writes_it_any_more() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("program");
        fs::copy("/bin/true", &program).unwrap();
        let mut writer = Some(fs::OpenOptions::new().append(true).open(&program).unwrap());
        let mut attempts = 0;
        let status = retry(|| {
            attempts += 1;
            let status = Command::new(&program).status();
            writer = None;
            status
        });
        assert!(status.unwrap().success());
        assert!(attempts > 1);
    }

    #[test]
    fn another_error_is_returned_at_once() {
        let mut attempts = 0;
        let error = retry(|| {
            attempts += 1;
            Command::new("/nonexistent").status()
        });
        assert_eq!((error.unwrap_err().kind(), attempts), (io::ErrorKind::NotFound, 1));
    }
}
