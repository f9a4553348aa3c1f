//! HTTP/3's bytes as a server reads and writes them (RFC 9114, RFC 9204): frames, settings, unidirectional streams, QPACK.
//! Owns what each byte means and which error its peer deserves. Never does I/O, never decides about a request, and keeps no
//! table that a peer can fill: our decoder's dynamic table has no room, so every block of fields stands alone.

mod control;
mod error;
mod frame;
mod huffman;
mod message;
mod qpack;
mod request;
mod static_table;
mod varint;

pub use control::{ControlReader, UniKind, UniReader};
pub use error::{Code, Fault};
pub use frame::{FRAME_HEADER_BYTES_MAX, goaway, header, settings};
pub use message::{Event, MessageReader};
pub use qpack::{Fields, decode, encode_field, encode_prefix, encode_status};
pub use request::{RequestFields, is_regular, request};
pub use varint::{VARINT_MAX, read_varint, varint_size, write_varint};
