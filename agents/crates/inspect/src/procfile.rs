//! Reads a Procfile: one line a process, `name: command`.

use fairlead_model::ProcessSpec;

use crate::InspectError;
use crate::{Files, command_line};

/// Processes of a Procfile.
#[derive(Debug, Clone, Default)]
pub(crate) struct Procfile {
    pub(crate) web: Option<Vec<String>>,
    pub(crate) release: Option<Vec<String>>,
    pub(crate) workers: Vec<ProcessSpec>,
}

pub(crate) fn read(files: &Files) -> Result<Option<Procfile>, InspectError> {
    let Some(text) = files.text("Procfile")? else { return Ok(None) };
    let mut procfile = Procfile::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |why: &str| {
            InspectError::Manifest(format!("Line {} of the Procfile {why}. Correct it, then deploy again.", index + 1))
        };
        let (name, command) = line.split_once(':').ok_or_else(|| wrong("is not of the form `name: command`"))?;
        let command = command_line::command(command).ok_or_else(|| wrong("has no command"))?;
        match name.trim() {
            "web" => procfile.web = Some(command),
            "release" => procfile.release = Some(command),
            name if process_name(name) => procfile.workers.push(worker(name, command, 1)),
            _ => return Err(wrong("names a process with other letters than a to z, digits and `-`")),
        }
    }
    Ok(Some(procfile))
}

/// True for a name that desired state allows.
pub(crate) fn process_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=32).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with('-') && name != "web"
}

pub(crate) fn worker(name: &str, command: Vec<String>, instances: u32) -> ProcessSpec {
    ProcessSpec {
        name: name.to_owned(),
        command,
        instances,
        memory_bytes_max: 0,
        cpu_millis_max: 0,
        stays_awake: false,
    }
}
