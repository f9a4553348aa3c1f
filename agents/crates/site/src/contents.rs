//! Digests of files, and the compressed files beside them. Invariant: a compressed file is used only after it was decoded and
//! compared, so none is ever stale.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use aws_lc_rs::digest::{Context, SHA256};
use fairlead_route::Coding;

/// Maximum number of remembered files, more than any site has; the cache is cleared when it is full.
const KNOWN_MAX: usize = 100_000;
/// Maximum size of a file with precompressed versions; those of larger files are not compared, so they are not used.
const COMPRESSED_OF_BYTES_MAX: u64 = 64 << 20;
/// Largest window that browsers decode (RFC 9659, section 3): 8 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
const BROTLI_BUFFER_BYTES: usize = 32 * 1024;

/// Codings of compressed files with their endings, the smallest first.
const CODINGS: [(Coding, &str); 3] = [(Coding::Brotli, ".br"), (Coding::Zstd, ".zst"), (Coding::Gzip, ".gz")];

/// Content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    digest: String,
    /// Codings of precompressed files with the same content, the smallest first.
    pub(crate) codings: Vec<Coding>,
}

impl Content {
    /// Returns the entity tag of the content in a coding; `None`: uncoded.
    pub(crate) fn tag(&self, coding: Option<Coding>) -> String {
        match coding {
            Some(coding) => format!("\"{}-{}\"", self.digest, coding.token()),
            None => format!("\"{}\"", self.digest),
        }
    }
}

/// Cache of contents by path, valid while the files' stamps are the same.
#[derive(Debug, Default)]
pub(crate) struct Contents(Mutex<HashMap<PathBuf, (Stamps, Content)>>);

/// Stamp of a file and of the compressed files beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamps {
    own: Stamp,
    compressed: [Option<Stamp>; CODINGS.len()],
}

type Stamp = (u64, u64, i64, i64);

impl Contents {
    /// Looks a file up. Blocking; it reads the file and those beside it unless they are known.
    pub(crate) fn of(&self, path: &Path) -> io::Result<Content> {
        let found = fs::metadata(path)?;
        let compressed = CODINGS.map(|(_, ending)| {
            let beside = fs::symlink_metadata(with_ending(path, ending)).ok()?;
            (beside.is_file() && found.len() <= COMPRESSED_OF_BYTES_MAX).then(|| stamp(&beside))
        });
        let stamps = Stamps { own: stamp(&found), compressed };
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        if let Some((_, content)) = known.filter(|(then, _)| *then == stamps) {
            return Ok(content);
        }
        let (digest, length) = digest(File::open(path)?)?;
        let there = CODINGS.into_iter().zip(&stamps.compressed).filter(|(_, stamp)| stamp.is_some());
        let is_same = |coding: Coding, beside: &Path| {
            let same = decoded(coding, File::open(beside)?)
                .and_then(|content| self::digest(content.take(length.saturating_add(1))))
                .is_ok_and(|(other, _)| other == digest);
            if !same {
                tracing::warn!("{} is not the content of {}, so it is not used", beside.display(), path.display());
            }
            Ok::<_, io::Error>(same)
        };
        let mut codings = Vec::new();
        for ((coding, ending), _) in there {
            if is_same(coding, &with_ending(path, ending))? {
                codings.push(coding);
            }
        }
        let content = Content { digest, codings };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(path.to_owned(), (stamps, content.clone()));
        Ok(content)
    }
}

fn stamp(found: &fs::Metadata) -> Stamp {
    (found.ino(), found.len(), found.mtime(), found.mtime_nsec())
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut path = OsString::from(path);
    path.push(ending);
    path.into()
}

/// Returns digest and length of the content.
fn digest(mut content: impl Read) -> io::Result<(String, u64)> {
    let mut hash = HashWriter(Context::new(&SHA256));
    let length = io::copy(&mut content, &mut hash)?;
    let hex = hash.0.finish().as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((hex, length))
}

fn decoded(coding: Coding, file: File) -> io::Result<Box<dyn Read>> {
    Ok(match coding {
        Coding::Brotli => Box::new(brotli::Decompressor::new(file, BROTLI_BUFFER_BYTES)),
        Coding::Gzip => Box::new(flate2::read::MultiGzDecoder::new(file)),
        Coding::Zstd => {
            let mut decoder = zstd::Decoder::new(file)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Box::new(decoder)
        }
    })
}

struct HashWriter(Context);

impl io::Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn compressed(coding: Coding, text: &[u8]) -> Vec<u8> {
        match coding {
            Coding::Brotli => {
                let mut writer = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
                writer.write_all(text).unwrap();
                writer.into_inner()
            }
            Coding::Gzip => {
                let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
                writer.write_all(text).unwrap();
                writer.finish().unwrap()
            }
            Coding::Zstd => zstd::bulk::compress(text, 3).unwrap(),
        }
    }

    #[test]
    fn a_compressed_file_counts_only_while_it_holds_the_same_content() {
        let dir = tempfile::tempdir().unwrap();
        let (path, contents) = (dir.path().join("a.js"), Contents::default());
        let write = |ending: &str, bytes: &[u8]| fs::write(with_ending(&path, ending), bytes).unwrap();
        let text = b"let a = 1;".repeat(500);
        write("", &text);
        assert_eq!(contents.of(&path).unwrap().codings, []);
        for (coding, ending) in CODINGS {
            write(ending, &compressed(coding, &text));
        }
        let all = contents.of(&path).unwrap();
        assert_eq!(all.codings, [Coding::Brotli, Coding::Zstd, Coding::Gzip]);
        let tags: Vec<String> = [None, Some(Coding::Brotli), Some(Coding::Gzip)].map(|one| all.tag(one)).to_vec();
        assert!(tags[1] != tags[0] && tags[1].ends_with("-br\"") && tags[2].ends_with("-gzip\""), "{tags:?}");
        write("", b"let a = 2;");
        let changed = contents.of(&path).unwrap();
        assert_eq!(changed.codings, []);
        assert_ne!(changed.tag(None), all.tag(None));
    }

    #[test]
    fn bombs_broken_files_and_links_are_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let (path, contents) = (dir.path().join("a.js"), Contents::default());
        fs::write(&path, "let a;").unwrap();
        fs::write(with_ending(&path, ".zst"), compressed(Coding::Zstd, &vec![0; 64 << 20])).unwrap();
        fs::write(with_ending(&path, ".gz"), "let a;").unwrap();
        fs::write(dir.path().join("b"), compressed(Coding::Brotli, b"let a;")).unwrap();
        std::os::unix::fs::symlink("b", with_ending(&path, ".br")).unwrap();
        assert_eq!(contents.of(&path).unwrap().codings, []);
        let mut writer = zstd::Encoder::new(Vec::new(), 3).unwrap();
        writer.window_log(27).unwrap();
        writer.write_all(b"let a;").unwrap();
        fs::write(with_ending(&path, ".zst"), writer.finish().unwrap()).unwrap();
        assert_eq!(contents.of(&path).unwrap().codings, [], "browsers refuse such a window");
    }
}
