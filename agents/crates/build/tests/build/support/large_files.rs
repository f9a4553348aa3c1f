//! The part of git-lfs that a host needs for downloads: the batch API, basic transfers and pointers to files.
//! Source: git-lfs `docs/api/batch.md` and `docs/spec.md`.

use std::path::{Path, PathBuf};

const OBJECTS: &str = "/large-files/";

/// Stores a file and returns the pointer that a repository holds in its place.
pub(super) fn keep(root: &Path, bytes: &[u8]) -> String {
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
    let id: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let path = file(root, &id);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{id}\nsize {}\n", bytes.len())
}

fn file(root: &Path, id: &str) -> PathBuf {
    root.join("large-files.d").join(id)
}

/// Answers a request of git-lfs; `None` when it is one of git.
pub(super) fn answer(root: &Path, path: &str, host: &str, body: &[u8]) -> Option<Vec<u8>> {
    if let Some(id) = path.strip_prefix(OBJECTS) {
        let bytes = std::fs::read(file(root, id)).ok();
        return Some(bytes.map_or_else(|| respond("404 Not Found", &[]), |bytes| respond("200 OK", &bytes)));
    }
    if !path.ends_with("/info/lfs/objects/batch") {
        return None;
    }
    let wanted: serde_json::Value = serde_json::from_slice(body).unwrap();
    let objects = wanted["objects"].as_array().unwrap().iter().map(|object| {
        let (id, size) = (object["oid"].as_str().unwrap(), object["size"].clone());
        let href = format!("http://{host}{OBJECTS}{id}");
        serde_json::json!({ "oid": id, "size": size, "actions": { "download": { "href": href } } })
    });
    let found = serde_json::json!({ "transfer": "basic", "objects": objects.collect::<Vec<_>>() });
    Some(respond("200 OK", found.to_string().as_bytes()))
}

fn respond(status: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/vnd.git-lfs+json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}
