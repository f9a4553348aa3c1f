//! Checks that this agent could connect: reads its saved files and sends a hello without opening a session, so that a connected
//! agent stays connected. Changes no file.

use std::time::Duration;

use fairlead_base::{Folders, file};
use fairlead_model::StateError;
use fairlead_wire::LINK_PROTOCOL;
use fairlead_wire::agent::{self, agent_envelope, gateway_envelope};
use prost::Message;
use tokio::time::timeout;

use crate::config::AgentConfig;
use crate::dial::{DialError, Endpoint};
use crate::key::{AgentKey, KeyError};
use crate::socket::{self, SocketError};

const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);

/// Reason why this agent could not connect.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The key is missing or damaged.
    #[error("the agent's key can't be used")]
    Key(#[from] KeyError),
    /// The saved state can't be read.
    #[error("the saved state can't be read")]
    File(#[from] std::io::Error),
    /// The saved state is invalid for this version.
    #[error("the saved state is not understood")]
    State(#[from] StateError),
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
}

/// Succeeds if the control plane knows this server and answers the hello of an agent of this `version`.
pub async fn probe_control_plane(
    config: &AgentConfig,
    folders: &Folders,
    version: &str,
    capabilities: &[&str],
) -> Result<(), ProbeError> {
    AgentKey::open(&folders.key())?;
    if let Some(bytes) = file::read_if_present(&folders.desired_state())? {
        let signed = agent::SignedState::decode(bytes.as_slice())
            .map_err(|error| StateError::Field { field: "saved".into(), reason: error.to_string() })?;
        fairlead_wire::desired_state(&signed.state, &config.server_id)?;
    }
    let endpoint = Endpoint::new(&config.control_url, config.control_ca_file.as_deref())?;
    let mut socket = endpoint.connect().await?;
    let hello = agent::Hello {
        protocol_version: LINK_PROTOCOL,
        server_id: config.server_id.to_string(),
        agent_version: version.into(),
        capabilities: capabilities.iter().map(|name| (*name).to_owned()).collect(),
        ..agent::Hello::default()
    };
    socket::feed(&mut socket, agent_envelope::Body::Hello(hello)).await?;
    socket::flush(&mut socket).await?;
    // A session opens only with the proof that follows the challenge; without it the gateway forgets this connection.
    let answer = timeout(ANSWER_TIMEOUT, async {
        loop {
            match socket::next(&mut socket).await? {
                gateway_envelope::Body::Challenge(_) => return Ok(()),
                gateway_envelope::Body::Error(error) => {
                    return Err(ProbeError::Refused { code: error.code, message: error.message });
                }
                _ => {}
            }
        }
    })
    .await
    .map_err(|_| ProbeError::Timeout)?;
    socket::close(&mut socket).await;
    answer
}
