//! The context of a Dockerfile: a folder as a tar, without what its .dockerignore names. Reads with the build's rights, and
//! never follows a link: the engine gets links as they are, and they lead nowhere but inside of its containers.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tar::{EntryType, Header};

use crate::as_user::as_user;

/// Packs `folder` into a new file. Blocking.
pub(crate) fn pack(folder: &Path, dockerfile: &str, into: &Path, user: Option<u32>) -> io::Result<()> {
    let file = File::create(into)?;
    as_user(user, || {
        let ignored = [format!("{dockerfile}.dockerignore"), ".dockerignore".to_owned()];
        let rules = ignored.iter().find_map(|name| {
            let path = folder.join(name);
            let plain = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
            plain.then(|| fs::read_to_string(path).ok()).flatten()
        });
        let rules = Rules::parse(&rules.unwrap_or_default(), dockerfile);
        let mut archive = tar::Builder::new(io::BufWriter::new(&file));
        add(&mut archive, folder, Path::new(""), &rules)?;
        archive.into_inner()?.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok::<(), io::Error>(())
    })??;
    file.sync_all()
}

fn add(archive: &mut tar::Builder<impl io::Write>, folder: &Path, at: &Path, rules: &Rules) -> io::Result<()> {
    let mut names: Vec<_> = fs::read_dir(folder.join(at))?.collect::<Result<_, _>>()?;
    names.sort_by_key(fs::DirEntry::file_name);
    for entry in names {
        let path = at.join(entry.file_name());
        let found = entry.metadata()?;
        let leaves_out = path == Path::new(".git") || rules.ignores(&path.to_string_lossy());
        let mut header = Header::new_gnu();
        header.set_mode(found.mode() & 0o777);
        header.set_size(0);
        if found.is_dir() {
            // A later rule may want back what is inside.
            if !leaves_out {
                header.set_entry_type(EntryType::Directory);
                archive.append_data(&mut header, &path, io::empty())?;
            }
            if path != Path::new(".git") {
                add(archive, folder, &path, rules)?;
            }
        } else if leaves_out {
        } else if found.is_symlink() {
            header.set_entry_type(EntryType::Symlink);
            archive.append_link(&mut header, &path, fs::read_link(entry.path())?)?;
        } else if found.is_file() {
            let file = File::open(entry.path())?;
            header.set_size(found.len());
            archive.append_data(&mut header, &path, io::Read::take(file, found.len()))?;
        }
    }
    Ok(())
}

/// Rules of a .dockerignore, the last that matches decides.
struct Rules(Vec<(bool, Vec<String>)>);

impl Rules {
    fn parse(text: &str, dockerfile: &str) -> Self {
        let rule = |line: &str| {
            let line = line.trim();
            let (back, pattern) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest.trim()));
            let parts: Vec<String> =
                pattern.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect();
            (!line.starts_with('#') && !parts.is_empty()).then_some((back, parts))
        };
        let mut rules: Vec<_> = text.lines().filter_map(rule).collect();
        // The engine itself needs it, whatever is ignored.
        rules.push((true, dockerfile.split('/').map(str::to_owned).collect()));
        Self(rules)
    }

    fn ignores(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        // What is below a folder that matches is left out with it.
        let matches = |pattern: &[String]| (1..=parts.len()).any(|end| matches(pattern, &parts[..end]));
        self.0.iter().rev().find(|(_, pattern)| matches(pattern)).is_some_and(|(back, _)| !back)
    }
}

fn matches(pattern: &[String], parts: &[&str]) -> bool {
    match (pattern.split_first(), parts.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "**" => {
            matches(rest, parts) || parts.split_first().is_some_and(|(_, below)| matches(pattern, below))
        }
        (Some((first, rest)), Some((part, below))) => glob(first.as_bytes(), part.as_bytes()) && matches(rest, below),
        _ => false,
    }
}

/// `*` and `?` within one name.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            glob(rest, text) || text.split_first().is_some_and(|(_, below)| glob(pattern, below))
        }
        (Some((b'?', rest)), Some((_, below))) => glob(rest, below),
        (Some((one, rest)), Some((other, below))) => one == other && glob(rest, below),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_leaves_out_what_its_rules_name_and_keeps_what_they_want_back() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["Dockerfile", "a.log", "src/b.log", "src/main.c", "keep/a.log", "node_modules/x/y", ".git/HEAD"] {
            let path = dir.path().join("app").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        let rules = "# nothing\n**/*.log\nnode_modules\n!keep/*.log\nDockerfile\n";
        fs::write(dir.path().join("app/.dockerignore"), rules).unwrap();
        let tar = dir.path().join("context.tar");
        pack(&dir.path().join("app"), "Dockerfile", &tar, None).unwrap();
        let mut archive = tar::Archive::new(File::open(tar).unwrap());
        let names: Vec<String> =
            archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect();
        assert_eq!(names, [".dockerignore", "Dockerfile", "keep", "keep/a.log", "src", "src/main.c"]);
    }
}
