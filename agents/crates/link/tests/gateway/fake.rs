//! Minimal gateway for tests with a real WebSocket and real signatures; the test controls every step.

use std::time::Duration;

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use fairlead_wire::agent::{
    self, AgentEnvelope, GatewayEnvelope, agent_envelope::Body as FromAgent, gateway_envelope::Body as FromGateway,
};
use futures_util::{SinkExt, StreamExt};
use prost::Message as _;
use std::sync::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

/// The only token that this gateway accepts.
pub(crate) const TOKEN: &str = "token-of-a-test";
/// Sealing recipient of this gateway's agents.
pub(crate) const RECIPIENT: &str = "age1test";
const PATIENCE: Duration = Duration::from_secs(20);

/// Listens on a free port of loopback.
pub(crate) struct Gateway {
    listener: TcpListener,
    agent_key: Mutex<Vec<u8>>,
}

/// Accepted connection and the agent's capabilities.
pub(crate) struct Peer(WebSocketStream<TcpStream>, Vec<String>);

fn signer() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[3; 32]).unwrap()
}

/// Checks that the agent's key signed the sealing recipient.
fn sealing_is_theirs(sealing: Option<agent::SealingKey>, public_key: &[u8]) {
    let sealing = sealing.expect("a sealing key");
    assert_eq!(sealing.recipient, RECIPIENT);
    let message = [b"fairlead-sealing-v1\n".as_slice(), RECIPIENT.as_bytes()].concat();
    UnparsedPublicKey::new(&ED25519, public_key).verify(&message, &sealing.signature).unwrap();
}

impl Gateway {
    pub(crate) async fn bind() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { listener, agent_key: Mutex::default() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.listener.local_addr().unwrap())
    }

    pub(crate) async fn accept(&self) -> Peer {
        let (stream, _) = timeout(PATIENCE, self.listener.accept()).await.unwrap().unwrap();
        Peer(tokio_tungstenite::accept_async(stream).await.unwrap(), Vec::new())
    }

    /// Takes one enrolment and checks that the agent holds the key it shows.
    pub(crate) async fn enrol(&self) {
        let mut peer = self.accept().await;
        let FromAgent::Enrol(enrol) = peer.receive().await else { panic!("no enrolment") };
        assert_eq!(enrol.token, TOKEN);
        let message = [b"fairlead-enrol-v1\n".as_slice(), TOKEN.as_bytes(), b"\n", &enrol.public_key].concat();
        UnparsedPublicKey::new(&ED25519, &enrol.public_key).verify(&message, &enrol.signature).unwrap();
        sealing_is_theirs(enrol.sealing, &enrol.public_key);
        *self.agent_key.lock().unwrap() = enrol.public_key;
        let public_key = signer().public_key().as_ref().to_vec();
        peer.send(FromGateway::Enrolled(agent::Enrolled {
            server_id: "srv_fake".into(),
            server_name: "fake".into(),
            signing_keys: vec![agent::SigningKey { key_id: "key_fake".into(), public_key }],
        }))
        .await;
    }

    /// Accepts, challenges, checks the proof and welcomes.
    pub(crate) async fn session(&self, desired: u64, acked: u64) -> Peer {
        let mut peer = self.accept().await;
        let FromAgent::Hello(hello) = peer.receive().await else { panic!("no hello") };
        assert_eq!(hello.server_id, "srv_fake");
        peer.1 = hello.capabilities;
        sealing_is_theirs(hello.sealing, &self.agent_key.lock().unwrap());
        peer.send(FromGateway::Challenge(agent::Challenge { nonce: vec![5; 32] })).await;
        let FromAgent::Proof(proof) = peer.receive().await else { panic!("no proof") };
        let message = [b"fairlead-hello-v1\nsrv_fake\n".as_slice(), &[5; 32]].concat();
        let key = self.agent_key.lock().unwrap().clone();
        UnparsedPublicKey::new(&ED25519, &key).verify(&message, &proof.signature).unwrap();
        peer.send(FromGateway::Welcome(agent::Welcome {
            server_unix_ms: 0,
            desired: peer.version(desired),
            push_acked_sequence: acked,
            ping_interval_ms: 20_000,
            ..Default::default()
        }))
        .await;
        peer
    }
}

impl Peer {
    /// Returns the capabilities in the agent's hello.
    pub(crate) fn capabilities(&self) -> &[String] {
        &self.1
    }

    pub(crate) async fn receive(&mut self) -> FromAgent {
        loop {
            match timeout(PATIENCE, self.0.next()).await.unwrap().unwrap().unwrap() {
                Message::Binary(bytes) => return AgentEnvelope::decode(bytes).unwrap().body.unwrap(),
                Message::Close(_) => panic!("the agent closed"),
                _ => {}
            }
        }
    }

    /// Waits for the end of the connection, before which nothing more may come.
    pub(crate) async fn ended(&mut self) {
        match timeout(PATIENCE, self.0.next()).await.unwrap() {
            None | Some(Ok(Message::Close(_))) => {}
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn send(&mut self, body: FromGateway) {
        self.send_raw(GatewayEnvelope { body: Some(body) }.encode_to_vec()).await;
    }

    pub(crate) async fn send_raw(&mut self, bytes: Vec<u8>) {
        self.0.send(Message::Binary(bytes.into())).await.unwrap();
    }

    pub(crate) async fn desired(&mut self, number: u64) {
        self.send(FromGateway::Desired(agent::DesiredVersion { version: self.version(number) })).await;
    }

    /// Waits for a sync and answers it with a signed, otherwise empty state.
    pub(crate) async fn answer_sync(&mut self, number: u64) {
        while !matches!(self.receive().await, FromAgent::Sync(_)) {}
        self.send(FromGateway::State(self.signed(number, "srv_fake"))).await;
    }

    pub(crate) fn version(&self, number: u64) -> Option<agent::Version> {
        Some(agent::Version { epoch: 1, number })
    }

    pub(crate) fn signed(&self, number: u64, server: &str) -> agent::SignedState {
        let state = agent::DesiredState {
            version: self.version(number),
            server_id: server.into(),
            ..agent::DesiredState::default()
        };
        let state = state.encode_to_vec();
        let signature = signer().sign(&[b"fairlead-state-v1\n".as_slice(), &state].concat()).as_ref().to_vec();
        agent::SignedState { state, key_id: "key_fake".into(), signature }
    }
}
