//! Checks that the committed Rust of the contract equals what its .proto files generate. `UPDATE_GEN=1 cargo test -p
//! fairlead-wire --test generated` writes it.

#![cfg(test)]
use std::collections::BTreeMap;
use std::path::Path;

use prost_types::FileDescriptorSet;
use prost_types::field_descriptor_proto::Type;

/// Protos that the others import are generated into the crate `model`.
const SHARED: [&str; 1] = ["fairlead/traffic/v1/traffic.proto"];
const PROTOS: [&str; 2] = ["fairlead/agent/v1/agent.proto", "fairlead/local/v1/local.proto"];

/// Traffic policy is opaque outside its own messages: the agent passes the bytes of a part on undecoded.
fn make_traffic_opaque(mut files: FileDescriptorSet) -> FileDescriptorSet {
    let others = files.file.iter_mut().filter(|file| file.package() != "fairlead.traffic.v1");
    for field in others.flat_map(|file| &mut file.message_type).flat_map(|message| &mut message.field) {
        if field.type_name().starts_with(".fairlead.traffic.v1.") {
            field.set_type(Type::Bytes);
            field.type_name = None;
        }
    }
    files
}

fn generate(into: &Path) -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packages/contract/proto");
    let compile = |files: &[&str]| protox::compile(files, [&root]).expect("the .proto files compile");
    let config = || {
        let mut config = prost_build::Config::new();
        config.btree_map(["."]).out_dir(into);
        // Its Debug is handwritten: it shows no value.
        config.skip_debug([
            ".fairlead.agent.v1.AcmeAccountKey",
            ".fairlead.agent.v1.CertificateKey",
            ".fairlead.agent.v1.SecretValue",
        ]);
        // Boxed: its size would otherwise be that of every envelope.
        config.boxed(".fairlead.agent.v1.InspectQuery.source");
        config
    };
    config().compile_fds(compile(&SHARED)).expect("the shared messages generate");
    let mut messages = make_traffic_opaque(compile(&PROTOS));
    messages.file.retain(|file| file.package() != "fairlead.traffic.v1");
    config().compile_fds(messages).expect("the messages generate");
    let mut files = read(into);
    files.insert("capabilities.rs".to_owned(), capabilities());
    files
}

/// Returns the Rust list of the contract's table of capabilities.
fn capabilities() -> String {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packages/contract/src/capabilities.ts");
    let table = std::fs::read_to_string(table).expect("the table of capabilities");
    let rows = table.split("export const capabilities = {").nth(1).and_then(|rest| rest.split("} as const").next());
    let names: Vec<&str> = rows
        .expect("the rows of the table")
        .lines()
        .filter_map(|row| row.strip_prefix("  ")?.split(':').next())
        .filter(|name| !name.starts_with(' '))
        .map(|name| name.trim_matches('\''))
        .collect();
    let rows: String = names.iter().map(|name| format!("    \"{name}\",\n")).collect();
    let count = names.len();
    format!(
        "// Generated from packages/contract/src/capabilities.ts.\n\
         /// Capabilities of this agent version; it rejects a whole desired state that requires others.\n\
         pub const CAPABILITIES: [&str; {count}] = [\n{rows}];\n"
    )
}

fn read(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("the folder exists") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        files.insert(name, std::fs::read_to_string(&path).expect("readable"));
    }
    files
}

#[test]
fn the_committed_messages_are_what_the_contract_generates() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let fresh = generate(scratch.path());
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = ["wire", "model"].map(|name| crates.join(name).join("src/gen"));
    if std::env::var_os("UPDATE_GEN").is_some() {
        for (name, text) in &fresh {
            let folder = &folders[usize::from(name == "fairlead.traffic.v1.rs")];
            std::fs::write(folder.join(name), text).expect("the file is written");
        }
    }
    let kept: BTreeMap<String, String> = folders.iter().flat_map(|folder| read(folder)).collect();
    assert_eq!(kept.keys().collect::<Vec<_>>(), fresh.keys().collect::<Vec<_>>());
    for (name, text) in &fresh {
        assert!(kept[name] == *text, "{name} is stale: run UPDATE_GEN=1 cargo test -p fairlead-wire --test generated");
    }
}
