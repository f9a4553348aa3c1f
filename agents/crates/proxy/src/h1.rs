//! HTTP/1.1 codecs: server side for clients, client side for apps. Codecs only translate; `exchange` decides.

mod body;
mod chunked;
mod connection;
mod downstream;
mod head;
mod upstream;

pub(crate) use body::BodyDecoder;
pub(crate) use chunked::{encode_chunk, encode_end};
pub(crate) use connection::{or_alarm, serve};
pub(crate) use head::{fields, header_slots, parse_response};
pub(crate) use upstream::ResponseReader;
