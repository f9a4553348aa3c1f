//! Checks signatures against those of the TypeScript library (the contract's signing fixture).

#![cfg(test)]

use std::path::Path;

use fairlead_link::AgentKey;
use fairlead_model::ServerId;

fn hex(value: &serde_json::Value) -> Vec<u8> {
    let text = value.as_str().unwrap();
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

#[test]
fn enrolment_and_hello_are_signed_as_the_gateway_checks_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packages/contract/fixtures");
    let text = std::fs::read_to_string(folder.join("signing.json")).unwrap();
    let fixture: serde_json::Value = serde_json::from_str(&text).unwrap();
    let key = AgentKey::from_seed(&hex(&fixture["seedHex"])).unwrap();
    assert_eq!(key.public(), hex(&fixture["publicKeyHex"]));
    let (enrol, hello, state) = (&fixture["enrol"], &fixture["hello"], &fixture["state"]);
    assert_eq!(key.sign_enrolment(enrol["token"].as_str().unwrap()), hex(&enrol["signatureHex"]));
    let server = ServerId::parse(hello["serverId"].as_str().unwrap()).unwrap();
    assert_eq!(key.sign_hello(&server, &hex(&hello["nonceHex"])), hex(&hello["signatureHex"]));
    let (sealing, made) = (&fixture["sealing"], key.sign_sealing(fixture["sealing"]["recipient"].as_str().unwrap()));
    assert_eq!(
        (made.signature, made.recipient.as_str()),
        (hex(&sealing["signatureHex"]), sealing["recipient"].as_str().unwrap())
    );
    let bytes = std::fs::read(folder.join(state["file"].as_str().unwrap())).unwrap();
    let signature = hex(&state["signatureHex"]);
    assert!(fairlead_link::state_signature_valid(key.public(), &bytes, &signature));
    assert!(!fairlead_link::state_signature_valid(key.public(), &bytes[1..], &signature));
}
