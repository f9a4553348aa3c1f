//! Names of variables that an app expects, from its example of a `.env` file. Values of examples are not read.

use crate::Files;

const EXAMPLES: [&str; 4] = [".env.example", ".env.sample", ".env.template", ".env.dist"];
/// More is no list of variables.
const NAMES_MAX: usize = 200;

/// Names in the order of the file, each once; none if it can't be read.
pub(crate) fn expected(files: &Files) -> Vec<String> {
    let text = EXAMPLES.iter().find_map(|name| files.text(name).ok().flatten()).unwrap_or_default();
    let mut names: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = line.trim().strip_prefix("export ").unwrap_or(line.trim());
        let Some((name, _)) = line.split_once('=') else { continue };
        let name = name.trim();
        let starts = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        let valid =
            starts && name.len() <= 128 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if valid && names.len() < NAMES_MAX && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}
