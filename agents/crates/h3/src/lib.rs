//! HTTP/3 codec of a server (RFC 9114, RFC 9204): frames, settings, unidirectional streams, QPACK. Invariant: no I/O,
//! and no state that a peer can grow, because our decoder's dynamic table has no capacity.

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
pub use error::{ErrorCode, Fault};
pub use frame::{FRAME_HEADER_BYTES_MAX, goaway, header, settings};
pub use message::{MessageEvent, MessageReader};
pub use qpack::{Fields, decode, encode_field, encode_prefix, encode_status};
pub use request::{RequestFields, is_regular, request};
pub use varint::{VARINT_MAX, read_varint, varint_size, write_varint};
