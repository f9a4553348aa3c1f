//! Streaming compression of one response body. Small windows and a limit on encoders bound the memory of a core;
//! responses beyond the limit are sent uncompressed.

use std::cell::Cell;
use std::io::{self, Write};

use brotli::CompressorWriter;
use fairlead_route::Coding;
use flate2::Compression;
use flate2::write::GzEncoder;
use zstd::stream::raw::CParameter;
use zstd::stream::write::Encoder as ZstdEncoder;

/// Maximum number of concurrent encoders on one core; each takes well under a megabyte.
const ENCODERS_MAX: u32 = 256;
/// Body bytes that one poll of a stream may encode, about a millisecond; then other tasks run.
const SLICE_BYTES: usize = 64 * 1024;
/// Window size of 128 KiB, which covers the repetitions within a page.
const WINDOW_LOG: u32 = 17;
const GZIP_LEVEL: u32 = 5;
const ZSTD_LEVEL: i32 = 3;
const BROTLI_QUALITY: u32 = 4;
const BROTLI_BUFFER_BYTES: usize = 4096;

thread_local! {
    /// Number of encoders in use on this core, which is one thread.
    static ENCODERS: Cell<u32> = const { Cell::new(0) };
}

enum BodyEncoder {
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(ZstdEncoder<'static, Vec<u8>>),
    Brotli(Box<CompressorWriter<Vec<u8>>>),
}

/// Encoder of one response body.
pub(crate) struct Compressor {
    kind: BodyEncoder,
    /// True if the encoder may hold input that it has not written out.
    holds: bool,
    /// Bytes encoded in this poll of the stream.
    turn_bytes: usize,
    _counted: Counted,
}

struct Counted;

impl Counted {
    fn enter() -> Option<Self> {
        let count = ENCODERS.get();
        (count < ENCODERS_MAX).then(|| {
            ENCODERS.set(count + 1);
            Self
        })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ENCODERS.set(ENCODERS.get() - 1);
    }
}

impl Compressor {
    /// Returns `None` if the core has reached `ENCODERS_MAX`.
    pub(crate) fn new(coding: Coding) -> Option<Self> {
        let counted = Counted::enter()?;
        let kind = match coding {
            Coding::Gzip => BodyEncoder::Gzip(GzEncoder::new(Vec::new(), Compression::new(GZIP_LEVEL))),
            Coding::Brotli => BodyEncoder::Brotli(Box::new(CompressorWriter::new(
                Vec::new(),
                BROTLI_BUFFER_BYTES,
                BROTLI_QUALITY,
                WINDOW_LOG,
            ))),
            Coding::Zstd => {
                let mut encoder = ZstdEncoder::new(Vec::new(), ZSTD_LEVEL).ok()?;
                encoder.set_parameter(CParameter::WindowLog(WINDOW_LOG)).ok()?;
                BodyEncoder::Zstd(encoder)
            }
        };
        Some(Self { kind, holds: false, turn_bytes: 0, _counted: counted })
    }

    fn output(&mut self) -> &mut Vec<u8> {
        match &mut self.kind {
            BodyEncoder::Gzip(encoder) => encoder.get_mut(),
            BodyEncoder::Zstd(encoder) => encoder.get_mut(),
            BodyEncoder::Brotli(encoder) => encoder.get_mut(),
        }
    }

    /// Encodes a part of the body and passes available output to `out`.
    pub(crate) fn write<E>(&mut self, data: &[u8], out: impl FnOnce(&[u8]) -> Result<(), E>) -> Result<(), E>
    where
        E: From<io::Error>,
    {
        self.holds = true;
        self.turn_bytes += data.len();
        match &mut self.kind {
            BodyEncoder::Gzip(encoder) => encoder.write_all(data),
            BodyEncoder::Zstd(encoder) => encoder.write_all(data),
            BodyEncoder::Brotli(encoder) => encoder.write_all(data),
        }?;
        self.give(out)
    }

    /// Flushes all input to `out`, because it is unknown when more comes.
    pub(crate) fn flush<E>(&mut self, out: impl FnOnce(&[u8]) -> Result<(), E>) -> Result<(), E>
    where
        E: From<io::Error>,
    {
        if !std::mem::take(&mut self.holds) {
            return Ok(());
        }
        match &mut self.kind {
            BodyEncoder::Gzip(encoder) => encoder.flush(),
            BodyEncoder::Zstd(encoder) => encoder.flush(),
            BodyEncoder::Brotli(encoder) => encoder.flush(),
        }?;
        self.give(out)
    }

    /// Ends the stream and returns the remaining output.
    pub(crate) fn end(self) -> io::Result<Vec<u8>> {
        match self.kind {
            BodyEncoder::Gzip(encoder) => encoder.finish(),
            BodyEncoder::Zstd(encoder) => encoder.finish(),
            BodyEncoder::Brotli(encoder) => Ok(encoder.into_inner()),
        }
    }

    /// True if this poll has encoded `SLICE_BYTES`; the call then starts a new count.
    pub(crate) fn ends_turn(&mut self) -> bool {
        let ends = self.turn_bytes >= SLICE_BYTES;
        if ends {
            self.turn_bytes = 0;
        }
        ends
    }

    fn give<E>(&mut self, out: impl FnOnce(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let output = self.output();
        if output.is_empty() {
            return Ok(());
        }
        let given = out(output);
        output.clear();
        given
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn decode(coding: Coding, bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        let read = match coding {
            Coding::Gzip => flate2::read::GzDecoder::new(bytes).read_to_end(&mut text),
            Coding::Zstd => zstd::stream::read::Decoder::new(bytes).unwrap().read_to_end(&mut text),
            Coding::Brotli => brotli::Decompressor::new(bytes, 4096).read_to_end(&mut text),
        };
        read.unwrap();
        text
    }

    #[test]
    fn each_coding_gives_back_what_went_in_whatever_the_pieces() {
        let text: Vec<u8> =
            (0..20_000u32).flat_map(|number| format!("line {} of it\n", number % 500).into_bytes()).collect();
        for coding in [Coding::Gzip, Coding::Zstd, Coding::Brotli] {
            let (mut compressor, mut out) = (Compressor::new(coding).unwrap(), Vec::new());
            for piece in text.chunks(7001) {
                compressor
                    .write::<io::Error>(piece, |bytes| {
                        out.extend_from_slice(bytes);
                        Ok(())
                    })
                    .unwrap();
            }
            out.extend(compressor.end().unwrap());
            assert!(out.len() < text.len() / 10, "{coding:?} {}", out.len());
            assert!(decode(coding, &out) == text, "{coding:?}");
        }
    }

    #[test]
    fn a_flush_lets_out_all_that_went_in_and_only_once() {
        for coding in [Coding::Gzip, Coding::Zstd, Coding::Brotli] {
            let (mut compressor, mut out) = (Compressor::new(coding).unwrap(), Vec::new());
            compressor
                .write::<io::Error>(b"event", |bytes| {
                    out.extend_from_slice(bytes);
                    Ok(())
                })
                .unwrap();
            compressor
                .flush::<io::Error>(|bytes| {
                    out.extend_from_slice(bytes);
                    Ok(())
                })
                .unwrap();
            let flushed = out.len();
            compressor
                .flush::<io::Error>(|bytes| {
                    out.extend_from_slice(bytes);
                    Ok(())
                })
                .unwrap();
            assert_eq!(out.len(), flushed);
            let mut text = [0; 5];
            match coding {
                Coding::Gzip => flate2::read::GzDecoder::new(&out[..]).read_exact(&mut text).unwrap(),
                Coding::Zstd => zstd::stream::read::Decoder::new(&out[..]).unwrap().read_exact(&mut text).unwrap(),
                Coding::Brotli => brotli::Decompressor::new(&out[..], 64).read_exact(&mut text).unwrap(),
            }
            assert_eq!(&text, b"event");
        }
    }

    #[test]
    fn a_core_has_a_maximum_number_of_encoders() {
        let all: Vec<_> = (0..ENCODERS_MAX).map(|_| Compressor::new(Coding::Gzip).unwrap()).collect();
        assert!(Compressor::new(Coding::Gzip).is_none());
        drop(all);
        assert!(Compressor::new(Coding::Gzip).is_some());
    }
}
