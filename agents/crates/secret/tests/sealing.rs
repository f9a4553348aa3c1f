//! Tests that this crate opens files sealed by the control plane's library (the contract's fixture) and rejects changed ones.
#![cfg(test)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fairlead_secret::{OpenError, SealingKey, SealingKeyError};
use serde_json::Value;

fn fixture() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packages/contract/fixtures/sealing.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn bytes(fixture: &Value, name: &str) -> Vec<u8> {
    STANDARD.decode(fixture[name].as_str().unwrap()).unwrap()
}

fn key(fixture: &Value) -> SealingKey {
    let hex = fixture["keyHex"].as_str().unwrap();
    let digits = (0..hex.len()).step_by(2);
    let bytes: Vec<u8> = digits.map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
    SealingKey::from_bytes(&bytes).unwrap()
}

#[test]
fn files_sealed_by_the_control_plane_open() {
    let fixture = fixture();
    let key = key(&fixture);
    assert_eq!(key.recipient(), fixture["recipient"]);
    let bundle = bytes(&fixture, "bundle");
    for name in ["sealed", "sealedAnew"] {
        assert_eq!(*key.open(&bytes(&fixture, name)).unwrap(), bundle);
    }
    assert!(key.open(&bytes(&fixture, "sealedEmpty")).unwrap().is_empty());
    let two: Vec<u8> = (0..64 * 1024 + 100u32).map(|at| (at % 251) as u8).collect();
    assert_eq!(*key.open(&bytes(&fixture, "sealedTwoChunks")).unwrap(), two);
    assert_eq!(key.open(&bytes(&fixture, "sealedToAnother")), Err(OpenError::Recipient));
}

#[test]
fn changed_or_truncated_files_do_not_open() {
    let fixture = fixture();
    let key = key(&fixture);
    let sealed = bytes(&fixture, "sealed");
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        assert!(key.open(&changed).is_err(), "byte {at} does not count");
        assert!(key.open(&sealed[..at]).is_err(), "{at} bytes are enough");
    }
    let two = bytes(&fixture, "sealedTwoChunks");
    // The first chunk alone is valid, but it is not marked as the last.
    assert_eq!(key.open(&two[..two.len() - 116]), Err(OpenError::Authenticity));
}

#[test]
fn the_key_survives_a_restart_and_is_its_owners_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key.age");
    let made = SealingKey::open_or_create(&path).unwrap();
    assert_eq!(SealingKey::open_or_create(&path).unwrap().recipient(), made.recipient());
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(format!("{made:?}"), "SealingKey(..)");
    std::fs::write(&path, b"short").unwrap();
    assert!(matches!(SealingKey::open_or_create(&path), Err(SealingKeyError::Damaged)));
}
