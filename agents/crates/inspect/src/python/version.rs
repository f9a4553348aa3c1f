//! Version of Python that the files of an app choose.

use toml::Value;

use super::project::PythonProject;
use crate::javascript::pinned_tool;
use crate::{Files, InspectError, VersionRequest};

/// Line that runs apps which name no version: the same on every server.
const USUAL: &str = "3.13";

/// Request in npm's notation, from the most explicit file to the least.
pub(super) fn request(folders: &[&Files], project: &PythonProject) -> Result<Option<VersionRequest>, InspectError> {
    for files in folders {
        for name in [".python-version", "runtime.txt"] {
            if let Some(line) = files.line(name)? {
                let version = line.trim_start_matches("python-").trim_start_matches("cpython-").trim().to_owned();
                // pyenv names virtual environments there too.
                if version.starts_with(|first: char| first.is_ascii_digit()) {
                    return Ok(Some(VersionRequest::exact(version, name)));
                }
            }
        }
        if let Some((version, file)) = pinned_tool(files, &["python"]) {
            return Ok(Some(VersionRequest::exact(version, file)));
        }
    }
    let pipfile = project.pipfile.as_ref().and_then(|table| table.get("requires")).and_then(Value::as_table);
    let required = ["python_full_version", "python_version"].iter().find_map(|key| pipfile?.get(*key)?.as_str());
    if let Some(version) = required {
        return Ok(Some(VersionRequest::exact(version, "Pipfile")));
    }
    if let Some(range) = project.table().and_then(|table| table.requires_python.as_deref()) {
        return Ok(Some(VersionRequest::within(of_python(range), "pyproject.toml (requires-python)")));
    }
    let poetry = project.tool("poetry").and_then(|table| table.get("dependencies")?.get("python")?.as_str());
    if let Some(range) = poetry {
        return Ok(Some(VersionRequest::within(of_python(range), "pyproject.toml (tool.poetry)")));
    }
    Ok(Some(VersionRequest::usual(USUAL)))
}

/// Python's own notation (PEP 440) in that of npm: commas mean "and", `~=3.11` allows later ones of its line, `==3.12.*` is a line.
fn of_python(range: &str) -> String {
    let part = |part: &str| {
        let part = part.trim();
        if let Some(version) = part.strip_prefix("~=") {
            let version = version.trim();
            return if version.matches('.').count() > 1 { format!("~{version}") } else { format!("^{version}") };
        }
        if let Some(version) = part.strip_prefix("==") {
            return version.trim().trim_end_matches(".*").to_owned();
        }
        // A version that is left out leaves the others.
        if part.starts_with("!=") { String::new() } else { part.replace(' ', "") }
    };
    let parts: Vec<String> = range.split(',').map(part).filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::of_python;

    #[test]
    fn ranges_of_python_become_ranges_of_npm() {
        for (python, npm) in [
            (">=3.9", ">=3.9"),
            (">=3.9,<4", ">=3.9 <4"),
            (">= 3.10, != 3.10.1", ">=3.10"),
            ("~=3.11", "^3.11"),
            ("~=3.11.2", "~3.11.2"),
            ("==3.12.*", "3.12"),
            ("^3.8", "^3.8"),
        ] {
            assert_eq!(of_python(python), npm, "{python}");
        }
    }
}
