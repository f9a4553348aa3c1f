//! Enrolment: registers this machine as a server by a single-use token and a new key, and writes `agent.toml`. Invariant: the
//! token is never written, logged or stored.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use fairlead_base::config::ConfigError;
use fairlead_base::{Folders, config};
use fairlead_model::{IdError, ServerId};
use fairlead_wire::agent::{self, agent_envelope, gateway_envelope};
use tokio::time::timeout;

use crate::config::AgentConfig;
use crate::dial::{DialError, Endpoint};
use crate::key::{AgentKey, KEY_BYTES, KeyError};
use crate::socket::{self, SocketError};

const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Input of an enrolment.
#[derive(Debug)]
pub struct Enrolment {
    /// Address of the control plane.
    pub control_url: String,
    /// Path of a PEM file of authorities that are trusted in addition to the system's.
    pub ca_file: Option<PathBuf>,
    /// Enrolment token, valid for one use.
    pub token: String,
    /// Description of this host, for people.
    pub host: agent::HostInfo,
    /// Version of this agent.
    pub agent_version: String,
    /// Recipient that this server's secrets are sealed to, `age1…`.
    pub sealing_recipient: String,
}

/// Reason for a failed enrolment.
#[derive(Debug, thiserror::Error)]
pub enum EnrolError {
    /// This data folder belongs to an enrolled agent.
    #[error("this agent is enrolled already as {0}; choose another data folder, or delete this one first")]
    AlreadyEnrolled(ServerId),
    /// The data folder can't be used.
    #[error("the data folder can't be used")]
    Folder(#[from] io::Error),
    /// The configuration can't be read or written.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The key can't be created.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The control plane can't be reached.
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The control plane refused.
    #[error("{message} ({code})")]
    Refused {
        /// Code of the contract's error table.
        code: String,
        /// Message of the control plane.
        message: String,
    },
    /// The control plane did not answer.
    #[error("the control plane did not answer within {} s", ANSWER_TIMEOUT.as_secs())]
    Timeout,
    /// The answer of the control plane is invalid.
    #[error("the control plane's answer can't be used: {0}")]
    Answer(String),
}

impl From<IdError> for EnrolError {
    fn from(error: IdError) -> Self {
        Self::Answer(error.to_string())
    }
}

/// Enrols this data folder. A failed attempt leaves at most a key, which the next one uses.
pub async fn enrol(folders: &Folders, enrolment: Enrolment) -> Result<AgentConfig, EnrolError> {
    folders.create()?;
    if folders.config().exists() {
        return Err(EnrolError::AlreadyEnrolled(config::read::<AgentConfig>(&folders.config())?.server_id));
    }
    let ca_file = enrolment.ca_file.map(std::path::absolute).transpose()?;
    let endpoint = Endpoint::new(&enrolment.control_url, ca_file.as_deref())?;
    let key = AgentKey::open_or_create(&folders.key())?;
    let mut socket = endpoint.connect().await?;
    let request = agent::Enrol {
        signature: key.sign_enrolment(&enrolment.token),
        token: enrolment.token,
        public_key: key.public().to_vec(),
        host: Some(enrolment.host),
        agent_version: enrolment.agent_version,
        sealing: Some(key.sign_sealing(&enrolment.sealing_recipient)),
    };
    socket::feed(&mut socket, agent_envelope::Body::Enrol(request)).await?;
    socket::flush(&mut socket).await?;
    let enrolled = timeout(ANSWER_TIMEOUT, answer(&mut socket)).await.map_err(|_| EnrolError::Timeout)??;
    socket::close(&mut socket).await;
    if enrolled.signing_keys.is_empty() || enrolled.signing_keys.iter().any(|key| key.public_key.len() != KEY_BYTES) {
        return Err(EnrolError::Answer("it names no signing key".into()));
    }
    let made = AgentConfig {
        server_id: ServerId::parse(&enrolled.server_id)?,
        server_name: enrolled.server_name,
        control_url: enrolment.control_url,
        control_ca_file: ca_file,
        signing_keys: enrolled.signing_keys.into_iter().map(Into::into).collect(),
    };
    config::write(&folders.config(), &made)?;
    Ok(made)
}

async fn answer(socket: &mut crate::dial::LinkSocket) -> Result<agent::Enrolled, EnrolError> {
    loop {
        match socket::next(socket).await? {
            gateway_envelope::Body::Enrolled(enrolled) => return Ok(enrolled),
            gateway_envelope::Body::Error(error) => {
                return Err(EnrolError::Refused { code: error.code, message: error.message });
            }
            gateway_envelope::Body::Ping(_) => {}
            _ => return Err(EnrolError::Answer("something else came first".into())),
        }
    }
}
