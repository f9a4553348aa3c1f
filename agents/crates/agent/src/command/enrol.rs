//! `enrol`: enrols this machine as a server. Invariant: the token comes from a file, standard input or a variable, never from an
//! argument that `ps` would show.

use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;

use fairlead_base::Folders;
use fairlead_link::Enrolment;
use fairlead_network::AppNetwork;
use fairlead_runtime::Isolation;
use fairlead_secret::SealingKey;

use super::{CommandResult, block_on};
use crate::cli::EnrolArgs;
use crate::host_info;

const TOKEN_BYTES_MAX: u64 = 4096;
const TOKEN_VARIABLE: &str = "FAIRLEAD_ENROL_TOKEN";

pub(crate) fn enrol(args: EnrolArgs) -> CommandResult {
    let token = read_token(args.token_file.as_deref())?;
    let folders = Folders::new(&args.data)?;
    folders.create()?;
    let isolation = Isolation::detect(&folders, AppNetwork::probe(&folders, &std::env::current_exe()?));
    let host = host_info::read(&folders, &isolation)?;
    let sealing_recipient = SealingKey::open_or_create(&folders.sealing_key())?.recipient();
    let enrolment = Enrolment {
        control_url: args.control,
        ca_file: args.ca,
        token,
        host,
        agent_version: crate::VERSION.into(),
        sealing_recipient,
    };
    let config = block_on(fairlead_link::enrol(&folders, enrolment))??;
    println!("This machine is now server {} ({}).", config.server_name, config.server_id);
    println!("Start it with: fairlead-agent run --data {}", folders.root().display());
    Ok(ExitCode::SUCCESS)
}

fn read_token(file: Option<&Path>) -> io::Result<String> {
    let text = match file {
        None => std::env::var(TOKEN_VARIABLE).map_err(|_| {
            io::Error::new(io::ErrorKind::NotFound, format!("no token: give --token-file or set {TOKEN_VARIABLE}"))
        })?,
        Some(path) if path == Path::new("-") => read_bounded(io::stdin())?,
        Some(path) => {
            let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
            read_bounded(std::fs::File::open(path).map_err(named)?).map_err(named)?
        }
    };
    let token = text.trim();
    if token.is_empty() || token.contains(char::is_whitespace) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the token is empty or has spaces in it"));
    }
    Ok(token.to_owned())
}

fn read_bounded(source: impl Read) -> io::Result<String> {
    let mut text = String::new();
    source.take(TOKEN_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_file_is_trimmed_and_an_empty_one_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        std::fs::write(&path, "abc\n").unwrap();
        assert_eq!(read_token(Some(&path)).unwrap(), "abc");
        std::fs::write(&path, "\n").unwrap();
        assert!(read_token(Some(&path)).is_err());
        let missing = read_token(Some(&dir.path().join("absent"))).unwrap_err().to_string();
        assert!(missing.contains("absent"), "{missing}");
    }
}
