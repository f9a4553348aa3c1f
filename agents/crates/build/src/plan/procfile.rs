//! A Procfile: one line a process, `name: command`. Lines are written for a shell; those that need one are refused by name,
//! because no command of Fairlead's goes through one.

use fairlead_model::ProcessSpec;

use super::{Files, words};
use crate::BuildError;

/// The processes it names.
#[derive(Debug, Clone, Default)]
pub(super) struct Procfile {
    pub(super) web: Option<Vec<String>>,
    pub(super) release: Option<Vec<String>>,
    pub(super) workers: Vec<ProcessSpec>,
}

pub(super) fn read(files: &Files) -> Result<Option<Procfile>, BuildError> {
    let Some(text) = files.text("Procfile")? else { return Ok(None) };
    let mut procfile = Procfile::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |why: &str| {
            BuildError::Manifest(format!("Line {} of the Procfile {why}. Correct it, then deploy again.", index + 1))
        };
        let (name, command) = line.split_once(':').ok_or_else(|| wrong("is not of the form `name: command`"))?;
        let command = words::plain(command).ok_or_else(|| {
            wrong("has a command that only a shell understands (quotes, variables, pipes). Write it as a list of words in fairlead.toml instead")
        })?;
        match name.trim() {
            "web" => procfile.web = Some(command),
            "release" => procfile.release = Some(command),
            name if process_name(name) => procfile.workers.push(worker(name, command, 1)),
            _ => return Err(wrong("names a process with other letters than a to z, digits and `-`")),
        }
    }
    Ok(Some(procfile))
}

/// What desired state allows.
pub(super) fn process_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=32).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with('-') && name != "web"
}

pub(super) fn worker(name: &str, command: Vec<String>, instances: u32) -> ProcessSpec {
    ProcessSpec {
        name: name.to_owned(),
        command,
        instances,
        memory_bytes_max: 0,
        cpu_millis_max: 0,
        stays_awake: false,
    }
}
