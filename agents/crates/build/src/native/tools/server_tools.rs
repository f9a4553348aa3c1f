//! Finds the server's own programs that the build's user can run.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use fairlead_inspect::Tool;
use fairlead_model::Step;

use crate::BuildError;
use crate::as_user::as_user;
use crate::command::{CommandSpec, Workshop};
use crate::version::SemVer;

/// Tool that is installed on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerTool {
    pub(super) program: PathBuf,
    pub(super) version: SemVer,
}

/// Those that say their version, in the order of the PATH; of Python all `python3.N` too.
pub(super) async fn find(workshop: &mut Workshop<'_>, tool: Tool) -> Result<Vec<ServerTool>, BuildError> {
    let path = workshop.options.path.clone();
    let candidates = as_user(workshop.options.user, || candidates(&path, tool))
        .map_err(BuildError::server("looking for programs"))?;
    let mut found: Vec<ServerTool> = Vec::new();
    for program in candidates {
        let Some(version) = version(workshop, tool, &program.to_string_lossy()).await? else { continue };
        match found.iter_mut().find(|own| own.version == version) {
            // `python3.11` is the same tomorrow, `python3` may not be.
            Some(own) if is_versioned(&program) && !is_versioned(&own.program) => own.program = program,
            Some(_) => {}
            None => found.push(ServerTool { program, version }),
        }
    }
    Ok(found)
}

fn candidates(path: &OsStr, tool: Tool) -> Vec<PathBuf> {
    let runs = |program: &PathBuf| {
        std::fs::metadata(program).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let folders = || std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let mut found: Vec<PathBuf> = folders().map(|folder| folder.join(tool.program())).filter(runs).take(1).collect();
    if tool == Tool::Python {
        for folder in folders() {
            let names = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
            let mut versioned: Vec<OsString> = names.filter(|name| is_versioned(name.as_ref())).collect();
            versioned.sort();
            found.extend(versioned.into_iter().map(|name| folder.join(name)).filter(runs));
        }
    }
    found
}

/// `python3.11`
fn is_versioned(program: &std::path::Path) -> bool {
    let name = program.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.strip_prefix("python3.")
        .is_some_and(|minor| !minor.is_empty() && minor.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Asks the program; `None` when it can't be run or does not say.
async fn version(workshop: &mut Workshop<'_>, tool: Tool, program: &str) -> Result<Option<SemVer>, BuildError> {
    // Outside of the source, where no file of the repository changes the answer.
    let folder = workshop.build_folders.home.clone();
    let question = if tool == Tool::Go { "version" } else { "--version" };
    let order = CommandSpec {
        step: Step::Build,
        program,
        arguments: &[OsStr::new(question)],
        folder: &folder,
        environment: &[("GOTOOLCHAIN", "local"), ("COREPACK_ENABLE_NETWORK", "0"), ("RUSTUP_AUTO_INSTALL", "0")],
        capture: true,
        secrets: false,
    };
    let said = match workshop.run(&order).await {
        // Not for this user.
        Err(BuildError::Command(_)) => return Ok(None),
        said => said?,
    };
    let text = String::from_utf8_lossy(&said.captured).into_owned();
    Ok(text.split_whitespace().filter(|_| said.status.success()).find_map(named))
}

/// `v22.11.0`, `go1.26.8` or `3.13.0+`.
fn named(word: &str) -> Option<SemVer> {
    let word = word.strip_prefix("go").unwrap_or(word).trim_end_matches('+');
    SemVer::parse(word).filter(|_| word.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_believed_as_they_say_their_version() {
        let rows = [
            ("v22.11.0", Some(SemVer(22, 11, 0))),
            ("Python 3.13.0+", Some(SemVer(3, 13, 0))),
            ("go version go1.26.8 linux/amd64", Some(SemVer(1, 26, 8))),
            ("cargo 1.90.0 (840b83a10 2025-07-30)", Some(SemVer(1, 90, 0))),
            ("deno 2.9.6 (stable, release, x86_64-unknown-linux-gnu)", Some(SemVer(2, 9, 6))),
            ("error: no default toolchain is configured", None),
        ];
        for (said, wanted) in rows {
            assert_eq!(said.split_whitespace().find_map(named), wanted, "{said}");
        }
    }
}
