//! Checks that the committed Rust of the contract equals what its .proto files generate. `UPDATE_GEN=1 cargo test -p
//! fairlead-wire --test generated` writes it.

#![cfg(test)]
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Protos that the others import get a module of their own.
const SHARED: [&str; 1] = ["fairlead/traffic/v1/traffic.proto"];
const PROTOS: [&str; 2] = ["fairlead/agent/v1/agent.proto", "fairlead/local/v1/local.proto"];

fn generate(into: &Path) -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packages/contract/proto");
    let compile = |files: &[&str]| protox::compile(files, [&root]).expect("the .proto files compile");
    let config = || {
        let mut config = prost_build::Config::new();
        config.btree_map(["."]).out_dir(into);
        // Its Debug is handwritten: it shows no value.
        config.skip_debug([".fairlead.agent.v1.SecretValue"]);
        // Boxed: its size would otherwise be that of every envelope.
        config.boxed(".fairlead.agent.v1.InspectQuery.source");
        config
    };
    config().compile_fds(compile(&SHARED)).expect("the shared messages generate");
    let mut with_shared = config();
    with_shared.extern_path(".fairlead.traffic.v1", "crate::traffic");
    with_shared.compile_fds(compile(&PROTOS)).expect("the messages generate");
    read(into)
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
    let committed: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/gen");
    if std::env::var_os("UPDATE_GEN").is_some() {
        for (name, text) in &fresh {
            std::fs::write(committed.join(name), text).expect("the file is written");
        }
    }
    let kept = read(&committed);
    assert_eq!(kept.keys().collect::<Vec<_>>(), fresh.keys().collect::<Vec<_>>());
    for (name, text) in &fresh {
        assert!(kept[name] == *text, "{name} is stale: run UPDATE_GEN=1 cargo test -p fairlead-wire --test generated");
    }
}
