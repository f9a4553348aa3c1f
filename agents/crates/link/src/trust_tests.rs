//! Tests of accepted states and of the keys trusted after them.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use fairlead_base::Folders;
use fairlead_model::{ServerId, StateError, Version};
use fairlead_wire::agent;
use prost::Message;

use super::{StateDecision, StateRefusal, Trust};
use crate::config::{AgentConfig, SigningKey};

struct Signer(String, Ed25519KeyPair);

impl Signer {
    fn new(id: &str, seed: u8) -> Self {
        Self(id.into(), Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap())
    }

    fn key(&self) -> SigningKey {
        SigningKey { key_id: self.0.clone(), public_key: self.1.public_key().as_ref().to_vec() }
    }

    fn sign(&self, number: u64, announced: &[&Signer]) -> agent::SignedState {
        let announced = announced.iter().map(|signer| signer.key());
        let state = agent::DesiredState {
            version: Some(agent::Version { epoch: 1, number }),
            server_id: "srv_1".into(),
            signing_keys: announced
                .map(|key| agent::SigningKey { key_id: key.key_id, public_key: key.public_key })
                .collect(),
            ..agent::DesiredState::default()
        };
        let state = state.encode_to_vec();
        let message = [b"fairlead-state-v1\n".as_slice(), &state].concat();
        agent::SignedState { signature: self.1.sign(&message).as_ref().to_vec(), state, key_id: self.0.clone() }
    }
}

struct Home {
    _dir: tempfile::TempDir,
    config: AgentConfig,
    folders: Folders,
}

impl Home {
    fn new(pinned: &Signer) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        folders.create().unwrap();
        let config = AgentConfig {
            server_id: ServerId::parse("srv_1").unwrap(),
            server_name: "one".into(),
            control_url: "http://127.0.0.1:1".into(),
            control_ca_file: None,
            signing_keys: vec![pinned.key()],
        };
        Self { _dir: dir, config, folders }
    }

    fn trust(&self) -> (Trust, Option<u64>) {
        let (trust, saved) = Trust::open(&self.config, &self.folders).unwrap();
        (trust, saved.map(|state| state.version.number))
    }
}

fn accepted(trust: &mut Trust, signed: &agent::SignedState) -> bool {
    matches!(trust.offer(signed), Ok(StateDecision::Accepted(_)))
}

#[test]
fn an_accepted_state_is_there_after_a_restart_and_an_older_one_is_refused_then_too() {
    let pinned = Signer::new("key_a", 1);
    let home = Home::new(&pinned);
    let (mut trust, saved) = home.trust();
    assert_eq!(saved, None);
    assert!(accepted(&mut trust, &pinned.sign(7, &[])));
    assert!(matches!(trust.offer(&pinned.sign(7, &[])), Ok(StateDecision::Unchanged)));
    let (mut trust, saved) = home.trust();
    assert_eq!(saved, Some(7));
    let refused = trust.offer(&pinned.sign(6, &[]));
    assert!(matches!(refused, Err(StateRefusal::State(StateError::Older { .. }))));
    assert_eq!(trust.held(), Version { epoch: 1, number: 7 });
}

#[test]
fn unsigned_changed_and_foreign_states_are_refused_and_nothing_is_saved() {
    let (pinned, stranger) = (Signer::new("key_a", 1), Signer::new("key_a", 2));
    let home = Home::new(&pinned);
    let (mut trust, _) = home.trust();
    let mut unsigned = pinned.sign(1, &[]);
    unsigned.signature.clear();
    let mut changed = pinned.sign(1, &[]);
    changed.state = pinned.sign(2, &[]).state;
    for bad in [unsigned, changed, stranger.sign(1, &[]), agent::SignedState::default()] {
        assert!(matches!(trust.offer(&bad), Err(StateRefusal::State(StateError::Signature { .. }))));
    }
    assert!(!home.folders.desired_state().exists());
}

#[test]
fn a_successor_is_trusted_once_announced_and_its_predecessor_no_longer_once_it_signed() {
    let (old, new) = (Signer::new("key_a", 1), Signer::new("key_b", 2));
    let home = Home::new(&old);
    let (mut trust, _) = home.trust();
    assert!(trust.offer(&new.sign(1, &[])).is_err());
    assert!(accepted(&mut trust, &old.sign(1, &[&new])));
    let (mut trust, _) = home.trust();
    assert!(accepted(&mut trust, &new.sign(2, &[])));
    let (mut trust, saved) = home.trust();
    assert_eq!(saved, Some(2));
    assert!(trust.offer(&old.sign(3, &[])).is_err());
    assert!(accepted(&mut trust, &new.sign(3, &[])));
}

#[test]
fn an_announcement_never_replaces_a_trusted_keys_bytes() {
    let (pinned, impostor) = (Signer::new("key_a", 1), Signer::new("key_a", 2));
    let home = Home::new(&pinned);
    let (mut trust, _) = home.trust();
    assert!(accepted(&mut trust, &pinned.sign(1, &[&impostor])));
    assert!(trust.offer(&impostor.sign(2, &[])).is_err());
    assert!(accepted(&mut trust, &pinned.sign(2, &[])));
}

#[test]
fn a_damaged_saved_state_is_left_out_and_a_sync_repairs_it() {
    let pinned = Signer::new("key_a", 1);
    let home = Home::new(&pinned);
    assert!(accepted(&mut home.trust().0, &pinned.sign(4, &[])));
    std::fs::write(home.folders.desired_state(), b"\x0a\x03abc").unwrap();
    let (mut trust, saved) = home.trust();
    assert_eq!(saved, None);
    assert!(accepted(&mut trust, &pinned.sign(4, &[])));
    assert_eq!(home.trust().1, Some(4));
}

#[test]
fn a_state_whose_keys_could_not_be_saved_is_accepted_when_it_comes_again() {
    let (old, new) = (Signer::new("key_a", 1), Signer::new("key_b", 2));
    let home = Home::new(&old);
    let (mut trust, _) = home.trust();
    let keys = home.folders.state().join("trust.toml");
    // A folder in its place: the file can't be written.
    std::fs::create_dir(&keys).unwrap();
    let rotation = old.sign(1, &[&new]);
    assert!(matches!(trust.offer(&rotation), Err(StateRefusal::Save(_))));
    std::fs::remove_dir(&keys).unwrap();
    assert!(accepted(&mut trust, &rotation));
    assert!(accepted(&mut trust, &new.sign(2, &[])));
}

/// Offers a state to a fresh `Trust` in this home.
fn offered(home: &Home, signed: &agent::SignedState) -> Result<StateDecision, StateRefusal> {
    home.trust().0.offer(signed)
}

#[test]
fn damage_to_the_saved_state_allows_no_older_one() {
    let pinned = Signer::new("key_a", 1);
    let home = Home::new(&pinned);
    assert!(accepted(&mut home.trust().0, &pinned.sign(7, &[])));
    let version = home.folders.state().join("version.toml");
    for damage in [b"".as_slice(), b"half of a state", pinned.sign(6, &[]).encode_to_vec().as_slice()] {
        std::fs::write(home.folders.desired_state(), damage).unwrap();
        assert_eq!(home.trust().1, None, "a state that is older than the highest is not used either");
        assert!(matches!(offered(&home, &pinned.sign(6, &[])), Err(StateRefusal::State(StateError::Older { .. }))));
    }
    // The same version is no downgrade, and restores the state.
    assert!(matches!(offered(&home, &pinned.sign(7, &[])), Ok(StateDecision::Accepted(_))));
    assert_eq!(home.trust().1, Some(7));
    // Without the second file the downgrade succeeds.
    std::fs::remove_file(&version).unwrap();
    std::fs::write(home.folders.desired_state(), b"half").unwrap();
    assert!(matches!(offered(&home, &pinned.sign(6, &[])), Ok(StateDecision::Accepted(_))));
}

#[test]
fn a_damaged_version_is_written_anew_from_the_state_and_both_damaged_stop_the_start() {
    let pinned = Signer::new("key_a", 1);
    let home = Home::new(&pinned);
    assert!(accepted(&mut home.trust().0, &pinned.sign(7, &[])));
    let version = home.folders.state().join("version.toml");
    std::fs::write(&version, b"half").unwrap();
    assert_eq!(super::Trust::damaged(Some(&home.config), &home.folders).len(), 1);
    assert_eq!(home.trust().1, Some(7));
    assert!(super::Trust::damaged(Some(&home.config), &home.folders).is_empty());
    std::fs::write(&version, b"half").unwrap();
    std::fs::write(home.folders.desired_state(), b"half").unwrap();
    let error = Trust::open(&home.config, &home.folders).unwrap_err().to_string();
    assert!(error.contains("version.toml is damaged") && error.contains("check --repair"), "{error}");
    let damaged = super::Trust::damaged(Some(&home.config), &home.folders);
    assert_eq!(damaged.len(), 2, "{damaged:?}");
    // Another control plane counts its own versions.
    std::fs::remove_file(home.folders.desired_state()).unwrap();
    let other = AgentConfig { server_id: ServerId::parse("srv_2").unwrap(), ..home.config.clone() };
    std::fs::write(&version, "server_id = \"srv_1\"\n[highest]\nepoch = 9\nnumber = 9\n").unwrap();
    assert_eq!(Trust::open(&other, &home.folders).unwrap().0.highest, Version::default());
    assert_eq!(home.trust().0.highest, Version { epoch: 9, number: 9 });
    std::fs::write(home.folders.state().join("trust.toml"), "signing_keys = [").unwrap();
    let error = Trust::open(&home.config, &home.folders).unwrap_err().to_string();
    assert!(error.contains("trust.toml is damaged"), "{error}");
}
