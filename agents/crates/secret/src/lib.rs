//! Secrets on a server: the key they are sealed to, opening what is sealed, and keeping their values out of logs.
//! Owns the private half of the sealing key. Never writes a value to disk, never prints one.

mod age;
mod bech32;
mod forms;
mod key;
mod redactor;

pub use age::OpenError;
pub use key::{SealingKey, SealingKeyError};
pub use redactor::{REDACTED, Redactor, SECRET_BYTES_MIN, Stream};
