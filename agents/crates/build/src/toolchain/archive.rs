//! A package of a registry to a folder with `bin`. Owns what of each package is the program.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256, digest};
use base64::Engine;
use serde::Deserialize;

use super::registry::{Proof, ToolchainPackage};
use crate::unpack::{Form, unpack_tar, unpack_tars};
use fairlead_inspect::Tool;

/// Rust's compiler, the largest, has some 150 MB packed and 500 MB unpacked.
pub(super) const BYTES_MAX: u64 = 512 << 20;
const UNPACKED_BYTES_MAX: u64 = 2 << 30;
const ENTRIES_MAX: usize = 100_000;
/// Folder that builds of python-build-standalone believe to lie in.
const BUILT_AT: &str = "/install";

#[derive(Debug, Deserialize)]
struct NpmManifest {
    #[serde(default)]
    bin: serde_json::Value,
}

/// Unpacks the archives of a package into `into`, which does not exist and will lie at `home`. Blocking; the error is what is
/// wrong with the package.
pub(super) fn unpack(
    tool: Tool,
    package: &ToolchainPackage,
    archives: &[PathBuf],
    into: &Path,
    home: &Path,
) -> Result<(), String> {
    let said = |error: io::Error| error.to_string();
    let archive = archives.first().ok_or("it holds nothing")?;
    fs::create_dir(into).map_err(said)?;
    let programs = into.join("bin");
    fs::create_dir(&programs).map_err(said)?;
    match tool {
        Tool::Uv => wheel(archive, &programs)?,
        Tool::Go => {
            let Some(Proof::GoSum(sum)) = package.pieces.first().map(|piece| &piece.proof) else {
                return Err("it has no checksum".to_owned());
            };
            go(archive, sum, into)?;
            symlink("../go/bin/go", programs.join("go")).map_err(said)?;
        }
        Tool::Python => python(archive, into, home)?,
        Tool::Rust => rust(archives, into)?,
        _ => npm(tool, archives, into)?,
    }
    for path in [into, &programs] {
        fs::set_permissions(path, PermissionsExt::from_mode(0o755)).map_err(said)?;
    }
    if programs.join(tool.program()).exists() {
        Ok(())
    } else {
        Err(format!("it holds no program `{}`", tool.program()))
    }
}

fn unpack_gz(archive: &Path, into: &Path, form: Form) -> Result<(), String> {
    let packed = flate2::read::GzDecoder::new(File::open(archive).map_err(|error| error.to_string())?);
    unpack_tar(packed, into, form).map_err(|error| error.reason())
}

/// Components of a release side by side; each has a folder of its own below the folder of its archive.
fn rust(archives: &[PathBuf], into: &Path) -> Result<(), String> {
    let wanted = |path: &Path| path != Path::new("manifest.in") && !path.starts_with("share/doc");
    let open = |archive: &PathBuf| File::open(archive).map(flate2::read::GzDecoder::new);
    let archives: Vec<_> = archives.iter().map(open).collect::<io::Result<_>>().map_err(|error| error.to_string())?;
    let form = Form { wanted, ..Form::new(2, UNPACKED_BYTES_MAX) };
    unpack_tars(archives, into, form).map_err(|error| error.reason())
}

/// A build of python-build-standalone, with the paths and compilers of the machine that it runs on, as uv has it.
fn python(archive: &Path, into: &Path, home: &Path) -> Result<(), String> {
    let said = |error: io::Error| error.to_string();
    unpack_gz(archive, into, Form { hard_links: true, ..Form::new(1, UNPACKED_BYTES_MAX) })?;
    let home = home.to_string_lossy();
    for folder in ["lib", "lib/pkgconfig"] {
        for path in files(&into.join(folder)).map_err(said)? {
            if path.extension().is_some_and(|ending| ending == "pc") {
                rewrite(&path, |text| text.replace(BUILT_AT, &home)).map_err(said)?;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with("python3.") {
                let data = files(&path).map_err(said)?.into_iter().filter(|path| {
                    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("_sysconfigdata_"))
                });
                for path in data {
                    rewrite(&path, |text| host_compilers(&text.replace(BUILT_AT, &home))).map_err(said)?;
                }
            }
        }
    }
    let programs = into.join("bin");
    if !programs.join("python").exists() && programs.join("python3").exists() {
        symlink("python3", programs.join("python")).map_err(said)?;
    }
    Ok(())
}

/// Lists a folder; a missing one is empty.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.map(|entry| Ok(entry?.path())).collect(),
    }
}

fn rewrite(path: &Path, change: impl FnOnce(String) -> String) -> io::Result<()> {
    // A link could name a file of the server.
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok(());
    }
    let text = fs::read_to_string(path)?;
    fs::write(path, change(text))
}

/// The compilers that a Python was built with, as those that a server has: packages with native code are built with them.
fn host_compilers(text: &str) -> String {
    let ends = [' ', '\'', '"', '\n', '='];
    let word = |piece: &str| {
        let (word, end) = piece.split_at(piece.trim_end_matches(ends).len());
        let host = match word.rsplit('/').next().unwrap_or_default() {
            "clang" => "cc",
            "clang++" => "c++",
            "llvm-ar" => "ar",
            name if word.starts_with('/') && name.ends_with("-linux-gnu-gcc") => "cc",
            name if word.starts_with('/') && name.ends_with("-linux-gnu-g++") => "c++",
            _ => word,
        };
        format!("{host}{end}")
    };
    text.split_inclusive(ends).map(word).collect()
}

fn npm(tool: Tool, archives: &[PathBuf], into: &Path) -> Result<(), String> {
    let said = |error: io::Error| error.to_string();
    let package = into.join("package");
    for (index, archive) in archives.iter().enumerate() {
        if index == 0 {
            unpack_gz(archive, &package, Form::new(1, UNPACKED_BYTES_MAX))?;
            continue;
        }
        // The program for this machine takes the place of the one that would fetch it.
        let native = into.join("native");
        unpack_gz(archive, &native, Form::new(1, UNPACKED_BYTES_MAX))?;
        fs::rename(native.join(tool.program()), package.join(tool.program())).map_err(said)?;
        fairlead_base::tree::remove(&native).map_err(said)?;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_builds_packages_with_the_compilers_of_the_server() {
        let built = " 'CC': 'clang -pthread',\n 'LDCXXSHARED': '/usr/bin/clang++ -pthread -shared',\n 'AR': '/tools/llvm/bin/llvm-ar',\n 'CXX': '/usr/bin/aarch64-linux-gnu-g++', 'NOTE': 'clangd gcc'";
        assert_eq!(
            host_compilers(built),
            " 'CC': 'cc -pthread',\n 'LDCXXSHARED': 'c++ -pthread -shared',\n 'AR': 'ar',\n 'CXX': 'c++', 'NOTE': 'clangd gcc'"
        );
    }
}
