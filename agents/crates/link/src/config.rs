//! `agent.toml`: the server's id, the control plane's address and the trusted signing keys. Enrolment writes it; the agent reads
//! it at start.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fairlead_model::ServerId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Configuration of an enrolled agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// Id of this server.
    pub server_id: ServerId,
    /// Name of the server at enrolment, for people.
    pub server_name: String,
    /// Address of the control plane: `https://…`, or `http://…` on loopback.
    pub control_url: String,
    /// Path of a PEM file of authorities that are trusted in addition to the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_ca_file: Option<PathBuf>,
    /// Signing keys pinned at enrolment.
    pub signing_keys: Vec<SigningKey>,
}

/// Public key of the control plane that verifies desired states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SigningKey {
    /// Id of the key.
    pub key_id: String,
    /// Raw Ed25519 public key; base64 in files.
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")]
    pub public_key: Vec<u8>,
}

impl From<fairlead_wire::agent::SigningKey> for SigningKey {
    fn from(key: fairlead_wire::agent::SigningKey) -> Self {
        Self { key_id: key.key_id, public_key: key.public_key }
    }
}

fn to_base64<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(bytes))
}

fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let bytes = STANDARD.decode(text).map_err(serde::de::Error::custom)?;
    if bytes.len() != crate::key::KEY_BYTES {
        return Err(serde::de::Error::custom("a public key has 32 bytes"));
    }
    Ok(bytes)
}
