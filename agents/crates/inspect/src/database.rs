//! Finds SQLite among an app's libraries: its file lies beside the code unless the app has a volume. Django's preset says so itself.

use crate::Files;
use crate::javascript::NodePackage;

const JAVASCRIPT: [&str; 4] = ["better-sqlite3", "sqlite3", "sqlite", "@journeyapps/sqlcipher"];
const GO: [&str; 4] = ["mattn/go-sqlite3", "modernc.org/sqlite", "glebarez/sqlite", "gorm.io/driver/sqlite"];

/// Sentence for the plan; `None` if no file of the app names SQLite.
pub(crate) fn advice(files: &Files) -> Option<String> {
    let evidence = evidence(files)?;
    Some(format!(
        "It can use SQLite ({evidence}). A database file in its folder is lost at the next start: add a volume and keep the file below $FAIRLEAD_VOLUMES."
    ))
}

fn evidence(files: &Files) -> Option<String> {
    let package = NodePackage::read(files, "").ok().flatten().unwrap_or_default();
    if let Some(name) = JAVASCRIPT.into_iter().find(|name| package.has(name)) {
        return Some(format!("{name} of package.json"));
    }
    let schemas = ["prisma/schema.prisma", "schema.prisma"];
    if let Some(name) = files.first(&schemas).filter(|name| names_provider(&files.search(name))) {
        return Some(name.to_owned());
    }
    let modules = files.search("go.mod");
    if let Some(name) = GO.into_iter().find(|name| modules.contains(name)) {
        return Some(format!("{name} of go.mod"));
    }
    if files.search("Cargo.toml").lines().any(|line| !line.trim_start().starts_with('#') && line.contains("sqlite")) {
        return Some("Cargo.toml".to_owned());
    }
    None
}

fn names_provider(schema: &str) -> bool {
    schema.lines().any(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        words == ["provider", "=", "\"sqlite\""]
    })
}
