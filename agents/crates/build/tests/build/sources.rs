//! Tests the origins of sources and their credentials: submodules, names with passwords, uploads.

use fairlead_model::{EnvironmentId, SealedSecrets};

use super::*;

#[tokio::test]
async fn submodules_come_with_their_repository_but_never_from_the_server_itself() {
    let (host, server) = (GitHost::start(), Server::new());
    let part = host.repository("part.git", &[("part.js", "// part")]);
    let repository = host.repository("whole.git", &[("index.html", "x")]);
    let hash = part.git(&["rev-parse", "HEAD"]);
    repository.submodule("lib", "../part.git", &hash);
    let mut ears = Ears::default();
    let made = server.build(&spec(host.url("whole.git"), "main"), &mut ears).await.unwrap();
    let folder = server.folder.path().join("releases/whole");
    unpack(&artifact_path(&server.options.artifacts, &made.artifact.digest).unwrap(), &made.artifact.digest, &folder)
        .unwrap();
    assert_eq!(std::fs::read_to_string(folder.join("lib/part.js")).unwrap(), "// part");
    std::fs::remove_dir_all(&server.options.artifacts).unwrap();
    std::fs::create_dir(&server.options.artifacts).unwrap();

    let local = host.repository("local.git", &[("index.html", "x")]);
    local.submodule("lib", &host.root().join("part.git").display().to_string(), &hash);
    server.fails(&spec(host.url("local.git"), "main"), "build.clone_failed", ".gitmodules").await;
    let absent = host.repository("absent-part.git", &[("index.html", "x")]);
    absent.submodule("lib", "../nothing.git", &hash);
    server
        .fails(&spec(host.url("absent-part.git"), "main"), "build.clone_failed", "A submodule of the repository")
        .await;
}

/// The credentials as the control plane seals them, opened by the key that they are sealed to.
#[tokio::test]
async fn credentials_that_are_not_of_this_app_open_nothing() {
    let (host, server) = (GitHost::start(), Server::new());
    host.repository("private.git", &[("index.html", "x")]);
    server.fails(&spec(host.url("private.git"), "main"), "build.clone_failed", "is private").await;
    let sealed = SealedSecrets { sealed: b"nothing".to_vec(), version: "v1".into() };
    let environment = Some(EnvironmentId::parse("env_a").unwrap());
    let closed = BuildSpec { credentials: Some(sealed), environment, ..spec(host.url("private.git"), "main") };
    server.fails(&closed, "build.secrets_unreadable", "no key for them").await;

    host.repository("open.git", &[("index.html", "x")]);
    let held_back = SealedSecrets { sealed: vec![0], version: "v1".into() };
    let held = BuildSpec { secrets: Some(held_back), ..spec(host.url("open.git"), "main") };
    server.fails(&held, "build.secrets_unreadable", "the control plane has no key that opens them").await;
}

#[tokio::test]
async fn an_upload_is_built_like_a_repository() {
    let server = Server::new();
    let mut archive = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for (name, text) in [("./index.html", "uploaded"), ("./a/b.css", "c")] {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    let bytes = archive.into_inner().unwrap().finish().unwrap();
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &bytes);
    let hex: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let digest = format!("sha256:{hex}");
    let without = BuildSpec { upload_digest: Some(digest.clone()), ..spec(String::new(), "") };
    server.fails(&without, "build.upload_unusable", "no store").await;
    std::fs::write(artifact_path(&server.options.artifacts, &digest).unwrap(), &bytes).unwrap();
    let mut ears = Ears::default();
    let made = server.build(&without, &mut ears).await.unwrap();
    assert!(made.commit.is_none() && ears.commit.is_none());
    assert_eq!(made.artifact.runtime, "static");
}
