//! The context of a Dockerfile: a folder as a tar, without what its .dockerignore names. Reads with the build's rights, and
//! never follows a link: the engine gets links as they are, and they lead nowhere but inside of its containers.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use tar::{EntryType, Header};

use crate::as_user::as_user;
use crate::pack::{DEPTH_MAX, PackError, PackRequest, exactly};

/// Maximum size of a .dockerignore: each of its rules is tried on each file.
const RULES_BYTES_MAX: u64 = 1 << 20;

/// Packs the order's folder into a new file. Blocking; ends at the order's deadline or when it is cancelled.
pub(crate) fn pack(order: &PackRequest<'_>, dockerfile: &str, into: &Path) -> Result<(), PackError> {
    let file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(into)?;
    let folder = order.trusted.join(order.below);
    as_user(order.user, || {
        let mut archive = tar::Builder::new(io::BufWriter::new(&file));
        BuildContext { order, folder: &folder, rules: Rules::read(&folder, dockerfile)? }.add(
            &mut archive,
            Path::new(""),
            0,
        )?;
        archive.into_inner()?.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok::<(), PackError>(())
    })??;
    Ok(file.sync_all()?)
}

struct BuildContext<'a> {
    order: &'a PackRequest<'a>,
    folder: &'a Path,
    rules: Rules,
}

impl BuildContext<'_> {
    fn add(&self, archive: &mut tar::Builder<impl io::Write>, at: &Path, depth: usize) -> Result<(), PackError> {
        if depth > DEPTH_MAX {
            return Err(PackError::Refused(format!(
                "The folder of the Dockerfile has folders nested deeper than {DEPTH_MAX} levels, which can't be packed. Remove them from the repository."
            )));
        }
        let mut names: Vec<_> = fs::read_dir(self.folder.join(at))?.collect::<Result<_, _>>()?;
        names.sort_by_key(fs::DirEntry::file_name);
        for entry in names {
            self.order.goes_on()?;
            let path = at.join(entry.file_name());
            let found = entry.metadata()?;
            let leaves_out = path == Path::new(".git") || self.rules.ignore(self.order, &path.to_string_lossy())?;
            let mut header = Header::new_gnu();
            header.set_mode(found.mode() & 0o777);
            header.set_size(0);
            if found.is_dir() {
                // A later rule may include a file below it again.
                if !leaves_out {
                    header.set_entry_type(EntryType::Directory);
                    archive.append_data(&mut header, &path, io::empty())?;
                }
                if path != Path::new(".git") {
                    self.add(archive, &path, depth + 1)?;
                }
            } else if leaves_out {
            } else if found.is_symlink() {
                header.set_entry_type(EntryType::Symlink);
                archive.append_link(&mut header, &path, fs::read_link(entry.path())?)?;
            } else if found.is_file() {
                let file = File::open(entry.path())?;
                header.set_size(found.len());
                archive.append_data(&mut header, &path, exactly(self.order, file, found.len()))?;
            }
        }
        Ok(())
    }
}

/// Rules of a .dockerignore, the last that matches decides.
struct Rules(Vec<(bool, Vec<String>)>);

impl Rules {
    /// Reads the rules beside the Dockerfile, or those of the folder; none if neither is a file.
    fn read(folder: &Path, dockerfile: &str) -> Result<Self, PackError> {
        for name in [format!("{dockerfile}.dockerignore"), ".dockerignore".to_owned()] {
            let path = folder.join(&name);
            if !fs::symlink_metadata(&path).is_ok_and(|found| found.is_file()) {
                continue;
            }
            let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path)?;
            let mut text = Vec::new();
            file.take(RULES_BYTES_MAX + 1).read_to_end(&mut text)?;
            if text.len() as u64 > RULES_BYTES_MAX {
                return Err(PackError::Refused(format!("The file {name} is larger than 1 MiB. Shorten it.")));
            }
            return Ok(Self::parse(&String::from_utf8_lossy(&text), dockerfile));
        }
        Ok(Self::parse("", dockerfile))
    }

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

    fn ignore(&self, order: &PackRequest<'_>, path: &str) -> Result<bool, PackError> {
        let parts: Vec<&str> = path.split('/').collect();
        for (back, pattern) in self.0.iter().rev() {
            order.goes_on()?;
            if matches(pattern, &parts) {
                return Ok(!back);
            }
        }
        Ok(false)
    }
}

/// Reports whether the pattern matches the path or a folder above it: a match of a folder includes everything below it. Takes one
/// step for each pair of a pattern part and a path part.
fn matches(pattern: &[String], parts: &[&str]) -> bool {
    // `reached[n]`: the pattern parts so far match the first n parts of the path.
    let mut reached = vec![false; parts.len() + 1];
    reached[0] = true;
    for part in pattern {
        if part == "**" {
            for end in 1..reached.len() {
                reached[end] |= reached[end - 1];
            }
            continue;
        }
        for end in (1..reached.len()).rev() {
            reached[end] = reached[end - 1] && glob(part.as_bytes(), parts[end - 1].as_bytes());
        }
        reached[0] = false;
    }
    reached[1..].contains(&true)
}

/// Matches `*` and `?` within one name. Only the last `*` is retried, so there are at most pattern × text steps.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut read) = (0, 0);
    // Position of the last `*`, and the byte of the text that it takes next.
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match (pattern.get(at), star) {
            (Some(b'*'), _) => {
                star = Some((at, read));
                at += 1;
            }
            (Some(one), _) if *one == b'?' || *one == text[read] => (at, read) = (at + 1, read + 1),
            (_, Some((last, taken))) => {
                star = Some((last, taken + 1));
                (at, read) = (last + 1, taken + 1);
            }
            (_, None) => return false,
        }
    }
    pattern[at..].iter().all(|rest| *rest == b'*')
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use fairlead_base::CancellationToken;

    use super::*;
    use crate::pack::{ArtifactLimits, NO_EXCLUSIONS};

    fn order<'a>(trusted: &'a Path, cancel: &'a CancellationToken) -> PackRequest<'a> {
        let deadline = Instant::now() + Duration::from_secs(60);
        PackRequest {
            trusted,
            below: Path::new("app"),
            excluded: &NO_EXCLUSIONS,
            user: None,
            cancel,
            deadline,
            bounds: ArtifactLimits::ARTIFACT,
        }
    }

    fn names(tar: &Path) -> Vec<String> {
        let mut archive = tar::Archive::new(File::open(tar).unwrap());
        archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect()
    }

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
        pack(&order(dir.path(), &CancellationToken::new()), "Dockerfile", &tar).unwrap();
        assert_eq!(names(&tar), [".dockerignore", "Dockerfile", "keep", "keep/a.log", "src", "src/main.c"]);
    }

    #[test]
    fn patterns_match_as_docker_matches_them() {
        let rows = [
            ("a", "a", true),
            ("a", "a/b", true),
            ("a", "b/a", false),
            ("*/b", "a/b", true),
            ("*/b", "b", false),
            ("**", "a/b", true),
            ("**/b", "b", true),
            ("**/b", "a/x/b/c", true),
            ("a/**/b", "a/b", true),
            ("a/**/b", "a/x/y/b", true),
            ("a/**/b", "x/a/b", false),
            ("**/a/**/b", "a/a/x/b", true),
            ("*.js", "a.js", true),
            ("*.js", "a.jsx", false),
            ("a*b*c", "aXbYbc", true),
            ("a*b*c", "aXc", false),
            ("?", "", false),
            ("a?c", "abc", true),
            ("***", "abc", true),
        ];
        for (pattern, path, wanted) in rows {
            let pattern_parts: Vec<String> = pattern.split('/').map(str::to_owned).collect();
            let parts: Vec<&str> = path.split('/').collect();
            assert_eq!(matches(&pattern_parts, &parts), wanted, "{pattern} on {path}");
        }
    }

    /// Matches by trying every way, as this file once did; `None` if that takes more steps than are left.
    fn tried(pattern: &[u8], text: &[u8], steps: &mut u32) -> Option<bool> {
        *steps = steps.checked_sub(1)?;
        Some(match (pattern.split_first(), text.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), below) => {
                tried(rest, text, steps)?
                    || match below {
                        Some((_, below)) => tried(pattern, below, steps)?,
                        None => false,
                    }
            }
            (Some((one, rest)), Some((other, below))) => one == other && tried(rest, below, steps)?,
            _ => false,
        })
    }

    #[test]
    fn a_rule_that_once_took_for_ever_is_decided() {
        let (pattern, name) = (format!("{}*b", "*a".repeat(20)), "a".repeat(120));
        assert_eq!(tried(pattern.as_bytes(), name.as_bytes(), &mut 10_000_000), None, "the attack is one");
        assert!(!glob(pattern.as_bytes(), name.as_bytes()));
        assert!(glob(format!("{}*", "*a".repeat(20)).as_bytes(), name.as_bytes()));
        let deep = vec!["a"; 120];
        let mut rule: Vec<String> = ["**", "a"].repeat(20).into_iter().map(str::to_owned).collect();
        rule.push("b".to_owned());
        assert!(!matches(&rule, &deep));

        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("app")).unwrap();
        fs::write(dir.path().join("app").join(&name), "").unwrap();
        fs::write(dir.path().join("app/.dockerignore"), pattern).unwrap();
        let tar = dir.path().join("context.tar");
        pack(&order(dir.path(), &CancellationToken::new()), "Dockerfile", &tar).unwrap();
        assert_eq!(names(&tar), [".dockerignore", &name]);
    }

    #[test]
    fn packing_ends_with_its_build_and_refuses_what_is_too_much() {
        let dir = tempfile::tempdir().unwrap();
        let (app, tar) = (dir.path().join("app"), dir.path().join("context.tar"));
        fs::create_dir(&app).unwrap();
        fs::write(app.join("a"), "").unwrap();
        let cancel = CancellationToken::new();
        let late = PackRequest { deadline: Instant::now(), ..order(dir.path(), &cancel) };
        assert!(matches!(pack(&late, "Dockerfile", &tar).unwrap_err(), PackError::Timeout));
        fs::create_dir_all(app.join("d/".repeat(DEPTH_MAX + 1))).unwrap();
        let error = pack(&order(dir.path(), &cancel), "Dockerfile", &tar).unwrap_err();
        assert!(error.to_string().contains("nested deeper than 128 levels"), "{error}");
        fs::write(app.join(".dockerignore"), "a\n".repeat(1 << 20)).unwrap();
        let error = pack(&order(dir.path(), &cancel), "Dockerfile", &tar).unwrap_err();
        assert!(error.to_string().contains("larger than 1 MiB"), "{error}");
        cancel.cancel();
        fs::remove_file(app.join(".dockerignore")).unwrap();
        assert!(matches!(pack(&order(dir.path(), &cancel), "Dockerfile", &tar).unwrap_err(), PackError::Cancelled));
    }
}
