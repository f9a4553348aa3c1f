//! Secrets on a server: their sealing key, decryption, and redaction of their values in logs. Never writes or prints a value.

mod age;
mod bech32;
mod forms;
mod key;
mod redactor;

pub use age::OpenError;
pub use key::{SealingKey, SealingKeyError};
pub use redactor::{REDACTED, RedactingStream, Redactor, SECRET_BYTES_MIN};
