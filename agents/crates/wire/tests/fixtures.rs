//! Parses the contract's fixtures, which the TypeScript side reads too: same bytes, same meaning.

#![cfg(test)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fairlead_model::{RouteTarget, ServerId};
use fairlead_wire::agent::{AgentEnvelope, DesiredState, GatewayEnvelope};
use prost::Message;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packages/contract/fixtures")
}

fn messages(kind: &str) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(fixtures().join("messages")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with(&format!("{kind}.")) && name.ends_with(".bin") {
            found.push((name, std::fs::read(&path).unwrap()));
        }
    }
    assert!(!found.is_empty(), "no fixtures of {kind}");
    found
}

fn round_trip<M: Message + Default>(kind: &str) {
    for (name, bytes) in messages(kind) {
        let message = M::decode(bytes.as_slice()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(message.encode_to_vec(), bytes, "{name} changes on its way through Rust");
    }
}

#[test]
fn every_message_of_the_link_comes_out_as_it_went_in() {
    round_trip::<AgentEnvelope>("AgentEnvelope");
    round_trip::<GatewayEnvelope>("GatewayEnvelope");
    round_trip::<DesiredState>("DesiredState");
}

#[test]
fn what_the_control_plane_renders_is_what_the_agent_takes() {
    for (name, bytes) in messages("DesiredState") {
        let message = DesiredState::decode(bytes.as_slice()).unwrap();
        let server = ServerId::parse(&message.server_id).unwrap();
        let state = fairlead_wire::desired_state(&bytes, &server).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(state.apps.len(), message.apps.len());
        assert_eq!(state.routes.len(), message.routes.len());
        if name.contains("full") {
            assert!(state.routes.iter().any(|route| matches!(route.target, RouteTarget::App(_))));
            assert!(state.apps.values().any(|app| app.live.is_some()));
            assert!(!state.builds.is_empty() && !state.benchmarks.is_empty());
        }
    }
}

#[test]
fn malformed_bytes_are_errors_in_both_languages() {
    let text = std::fs::read_to_string(fixtures().join("malformed.json")).unwrap();
    let kinds: BTreeMap<String, BTreeMap<String, String>> = serde_json::from_str(&text).unwrap();
    for (case, hex) in &kinds["AgentEnvelope"] {
        let bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect();
        assert!(AgentEnvelope::decode(bytes.as_slice()).is_err(), "{case}");
    }
}

#[test]
fn what_a_person_may_enter_is_what_the_agent_takes() {
    let (name, bytes) = messages("DesiredState").into_iter().find(|(name, _)| name.contains("full")).unwrap();
    let text = std::fs::read_to_string(fixtures().join("accepted-input.json")).unwrap();
    let accepted: serde_json::Value = serde_json::from_str(&text).unwrap();
    let stored = |field: &str| -> Vec<String> {
        let cases = accepted[field].as_object().unwrap();
        assert!(!cases.is_empty(), "no cases of {field}");
        cases.values().map(|value| value.as_str().unwrap().to_owned()).collect()
    };
    let check = |field: &str, change: fn(&mut DesiredState, String)| {
        for value in stored(field) {
            let mut message = DesiredState::decode(bytes.as_slice()).unwrap();
            let server = ServerId::parse(&message.server_id).unwrap();
            change(&mut message, value.clone());
            let state = fairlead_wire::desired_state(&message.encode_to_vec(), &server);
            assert!(state.is_ok(), "{name} with {field} {value:?}: {state:?}");
        }
    };
    check("repositoryUrl", |state, value| state.builds[0].repository_url = value);
    check("ref", |state, value| state.builds[0].r#ref = value);
    check("rootFolder", |state, value| state.builds[0].root_folder = value);
    check("host", |state, value| state.routes[0].host = value);
    check("healthPath", |state, value| {
        let live = state.apps.iter_mut().find_map(|app| app.live.as_mut()).unwrap();
        live.readiness_check.as_mut().unwrap().path = value;
    });
}
