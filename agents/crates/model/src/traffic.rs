//! Traffic policy of a route, an app and the whole proxy. Desired state and the file of a standalone proxy both become
//! these types. Invariant: a value was checked when it was decoded, so later code trusts it.

mod app_traffic;
mod proxy_settings;
mod redirect;
mod route_policy;
#[cfg(test)]
mod tests;
mod upstream_address;

use std::fmt;

use ipnet::IpNet;
use prost::Message;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use app_traffic::*;
pub use proxy_settings::*;
pub use redirect::*;
pub use route_policy::*;
pub use upstream_address::*;

/// Maximum number of header rules, pages, address ranges or users of one route.
const ENTRIES_MAX: usize = 256;

type Checked = Result<(), TrafficError>;
type Parsed<T> = Result<T, TrafficError>;

/// Reason why a policy is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct TrafficError {
    /// Path of the field, like `limits.client_burst`.
    pub field: String,
    /// Description of the problem.
    pub reason: String,
}

impl TrafficError {
    /// Creates an error of one field.
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }
}

/// Part of traffic policy that crosses processes as encoded bytes.
pub trait TrafficPart: Serialize + DeserializeOwned {
    /// Message of the contract.
    type Message: Message + Default;

    /// Converts a message; absent fields get their defaults. The value may still be out of bounds.
    fn from_message(message: Self::Message) -> Result<Self, TrafficError>;

    /// Returns an error for the first invalid field.
    fn check(&self) -> Result<(), TrafficError>;
}

/// Encoding of traffic policy in a snapshot of the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficEncoding {
    /// Messages of the contract, as desired state has them.
    Message,
    /// JSON of the types of this crate, from the configuration file of a standalone proxy.
    Json,
}

impl TrafficEncoding {
    /// Decodes a part and checks it. Empty bytes are the default.
    pub fn decode<T: TrafficPart>(self, bytes: &[u8]) -> Result<T, TrafficError> {
        let unreadable = |error: &dyn fmt::Display| TrafficError::new("encoding", format!("can't be read: {error}"));
        let part = match self {
            Self::Json if !bytes.is_empty() => serde_json::from_slice(bytes).map_err(|error| unreadable(&error))?,
            Self::Message | Self::Json => {
                T::from_message(T::Message::decode(bytes).map_err(|error| unreadable(&error))?)?
            }
        };
        part.check()?;
        Ok(part)
    }
}

/// Part of traffic policy as the control plane encoded it. The agent checks it once and passes it on undecoded.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncodedTraffic(Vec<u8>);

impl EncodedTraffic {
    /// Checks the bytes of a message.
    pub fn checked<T: TrafficPart>(bytes: Vec<u8>) -> Result<Self, TrafficError> {
        TrafficEncoding::Message.decode::<T>(&bytes)?;
        Ok(Self(bytes))
    }

    /// Returns the bytes of the message.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for EncodedTraffic {
    /// Leaves the bytes out, because they hold hashes of passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EncodedTraffic({} bytes)", self.0.len())
    }
}

fn wrong<T>(field: impl Into<String>, reason: impl Into<String>) -> Parsed<T> {
    Err(TrafficError::new(field, reason))
}

fn unknown<T>(field: &str) -> Parsed<T> {
    wrong(field, "holds one that is unknown here")
}

/// Returns the default for zero.
fn or(value: u32, default: u32) -> u32 {
    if value == 0 { default } else { value }
}

fn few(name: &str, count: usize) -> Checked {
    if count <= ENTRIES_MAX { Ok(()) } else { wrong(name, format!("has {count} entries, more than {ENTRIES_MAX}")) }
}

fn within(name: &str, value: u32, least: u32, most: u32) -> Checked {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    wrong(name, format!("is {value}, not within {least} and {most}"))
}

fn networks(field: &str, texts: &[String]) -> Parsed<Vec<IpNet>> {
    let network = |text: &String| match (text.parse::<IpNet>(), text.parse::<std::net::IpAddr>()) {
        (Ok(network), _) => Ok(network),
        (_, Ok(address)) => Ok(address.into()),
        _ => {
            let shown: String = text.chars().take(80).collect();
            Err(TrafficError::new(field, format!("`{shown}` is not an address range like 192.0.2.0/24")))
        }
    };
    texts.iter().map(network).collect()
}
