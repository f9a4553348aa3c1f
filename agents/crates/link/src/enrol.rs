//! Becoming a server of a control plane: a single-use token and the agent's own new key, once. Owns `agent.toml`.
//! The token is never written, logged or kept.

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

/// What enrolment needs.
#[derive(Debug)]
pub struct Enrolment {
    /// The control plane's address.
    pub control_url: String,
    /// Authorities beside the system's.
    pub ca_file: Option<PathBuf>,
    /// The single-use token.
    pub token: String,
    /// This host, for people.
    pub host: agent::HostInfo,
    /// This agent's version.
    pub agent_version: String,
    /// Whom to seal this server's secrets to, `age1…`.
    pub sealing_recipient: String,
}

/// Why enrolment failed.
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
    /// The key can't be made.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The control plane can't be reached.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The connection broke.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The control plane said no.
    #[error("{message} ({code})")]
    Refused {
        /// Its code.
        code: String,
        /// Its words.
        message: String,
    },
    /// The control plane did not answer.
    #[error("the control plane did not answer within {} s", ANSWER_TIMEOUT.as_secs())]
    Timeout,
    /// Its answer can't be used.
    #[error("the control plane's answer can't be used: {0}")]
    Answer(String),
}

impl From<IdError> for EnrolError {
    fn from(error: IdError) -> Self {
        Self::Answer(error.to_string())
    }
}

/// Enrols this data folder. A failed try leaves at most a key behind, which the next one uses.
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

async fn answer(socket: &mut crate::dial::Socket) -> Result<agent::Enrolled, EnrolError> {
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
