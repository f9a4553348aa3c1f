//! Check of a Dockerfile for files that the engine itself would fetch. `ADD` of a URL is fetched by the engine, as root and over the
//! server's network: it reaches the server's own services and the cloud's metadata, which a build must not.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;

/// Bytes of a Dockerfile.
const DOCKERFILE_BYTES_MAX: u64 = 1024 * 1024;
/// Words of Docker before the ONBUILD instructions of a base image, and of Podman before any instruction.
const TRIGGERS: &str = "# Executing ";
const PODMAN_STEP: &str = "STEP ";

/// Reads the Dockerfile out of a packed context, as the engine will. A link is refused: it would lead to another file there.
pub(crate) fn read(context: &Path, name: &str) -> io::Result<String> {
    let mut archive = tar::Archive::new(std::fs::File::open(context)?);
    for entry in archive.entries()? {
        let entry = entry?;
        if entry.path()?.as_os_str() != name {
            continue;
        }
        if !entry.header().entry_type().is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut text = String::new();
        entry.take(DOCKERFILE_BYTES_MAX).read_to_string(&mut text)?;
        return Ok(text);
    }
    Err(io::ErrorKind::NotFound.into())
}

/// Lists the names that `ARG` declares, in any stage.
pub(crate) fn declared_arguments(dockerfile: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for instruction in instructions(dockerfile) {
        let (name, rest) = split_word(&instruction);
        if name.eq_ignore_ascii_case("ARG") {
            // Words of a quoted default may pass for names: a variable of such a name is still none of the image's.
            names.extend(rest.split_whitespace().map(|word| word.split('=').next().unwrap_or(word).to_owned()));
        }
    }
    names
}

/// Returns the first source of an `ADD`, or of an `ONBUILD ADD`, that is a URL or could become one.
pub(crate) fn remote_source(dockerfile: &str) -> Option<String> {
    instructions(dockerfile).iter().find_map(|instruction| {
        let (name, rest) = split_word(instruction);
        let (name, rest) = if name.eq_ignore_ascii_case("ONBUILD") { split_word(rest) } else { (name, rest) };
        name.eq_ignore_ascii_case("ADD").then(|| words(rest).into_iter().find(|word| may_be_remote(word))).flatten()
    })
}

/// Reports whether a line of the engine's output says that it now follows ONBUILD instructions of a base image, or an `ADD` of a URL.
pub(crate) fn is_remote_step(line: &str) -> bool {
    let step = line.strip_prefix(PODMAN_STEP).and_then(|rest| rest.split_once(": "));
    line.starts_with(TRIGGERS) || step.is_some_and(|(_, instruction)| remote_source(instruction).is_some())
}

/// Joins lines that go on in the next one, without comments and parser directives.
fn instructions(dockerfile: &str) -> Vec<String> {
    let escape = escape(dockerfile);
    let mut found = Vec::new();
    let mut open = String::new();
    for line in dockerfile.lines() {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.trim_end().strip_suffix(escape) {
            Some(begun) => open.push_str(begun),
            None => {
                open.push_str(line);
                found.push(std::mem::take(&mut open));
            }
        }
    }
    found.push(open);
    found
}

/// Returns the character that the directive `escape` names; directives stand before everything else.
fn escape(dockerfile: &str) -> char {
    let directives = dockerfile.trim_start_matches('\u{feff}').lines().map_while(|line| line.trim().strip_prefix('#'));
    let named = directives.filter_map(|line| line.split_once('=')).find_map(|(name, value)| {
        name.trim().eq_ignore_ascii_case("escape").then(|| value.trim().chars().next()).flatten()
    });
    named.unwrap_or('\\')
}

fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once(char::is_whitespace).unwrap_or((text, ""))
}

/// Lists the words of an instruction, in either of its forms, without flags.
fn words(rest: &str) -> Vec<String> {
    let mut rest = rest.trim();
    while rest.starts_with("--") {
        rest = split_word(rest).1.trim_start();
    }
    serde_json::from_str(rest).unwrap_or_else(|_| rest.split_whitespace().map(str::to_owned).collect())
}

/// Reports whether a word is a URL once variables, quotes and escapes are replaced.
fn may_be_remote(word: &str) -> bool {
    let plain: String = word.chars().filter(|character| !"\"'\\`".contains(*character)).collect();
    let plain = plain.to_ascii_lowercase();
    let schemes = ["http://", "https://", "git://", "ssh://", "ftp://", "git@", "github.com/"];
    let known = plain.split_once('$').map_or(plain.as_str(), |(known, _)| known);
    let begins = schemes.iter().any(|scheme| known.starts_with(scheme));
    // A variable may hold what is missing of a scheme.
    begins || (known.len() < plain.len() && schemes.iter().any(|scheme| scheme.starts_with(known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_add_of_a_url_is_found_however_it_is_written() {
        for dockerfile in [
            "FROM scratch\nADD http://169.254.169.254/latest /x\n",
            "FROM scratch\n  add --chown=1:1 https://example.com/a /a",
            "FROM scratch\nADD a \\\n  # comment\n\n  http://127.0.0.1/ /x\n",
            "FROM scratch\nAD\\\nD http://127.0.0.1/ /x\n",
            "# escape=`\nFROM scratch\nADD a `\n http://127.0.0.1/ /x\n",
            "FROM scratch\nADD [\"\\u0068ttp://127.0.0.1/\", \"/x\"]\n",
            "FROM scratch\nADD h\"tt\"p://127.0.0.1/ /x\n",
            "FROM scratch\nADD ht\\tp://127.0.0.1/ /x\n",
            "FROM scratch\nARG A=http://127.0.0.1/\nADD $A /x\n",
            "FROM scratch\nARG A=ttp://127.0.0.1/\nADD h${A} /x\n",
            "FROM scratch\nADD http://$HOST/ /x\n",
            "FROM scratch\nONBUILD ADD http://127.0.0.1/ /x\n",
            "FROM scratch\nADD git@example.com:a/b.git /x\n",
        ] {
            assert!(remote_source(dockerfile).is_some(), "{dockerfile}");
        }
        for dockerfile in [
            "FROM scratch\nADD . /app\nADD package.json yarn.lock /app/\n",
            "FROM scratch\nCOPY ${JAR_FILE} app.jar\nADD target/${JAR_FILE} app.jar\n",
            "FROM scratch\n# ADD http://127.0.0.1/ /x\nRUN curl http://example.com/\n",
            "FROM scratch\nENV ADD http://127.0.0.1/\nADD http /x\nADD [\"a b\", \"/x\"]\n",
        ] {
            assert_eq!(remote_source(dockerfile), None, "{dockerfile}");
        }
    }

    #[test]
    fn arguments_are_declared_in_every_stage_and_form() {
        let dockerfile = "ARG BASE=scratch\nFROM $BASE AS a\narg ONE TWO=2 \\\n  THREE=\"x\"\n# ARG NO\nRUN echo ARG NO\nFROM a\nARG FOUR";
        let declared = declared_arguments(dockerfile);
        assert_eq!(declared.iter().map(String::as_str).collect::<Vec<_>>(), ["BASE", "FOUR", "ONE", "THREE", "TWO"]);
    }

    #[test]
    fn steps_of_a_base_image_are_known_by_the_words_of_both_engines() {
        assert!(is_remote_step("# Executing 1 build trigger"));
        assert!(is_remote_step("STEP 2/3: ADD http://127.0.0.1/ /x"));
        for line in ["Step 2/3 : ADD http://127.0.0.1/ /x", "STEP 2/3: ADD a /x", "STEP 1/3: FROM node:24", " ---> 0a"]
        {
            assert!(!is_remote_step(line), "{line}");
        }
    }
}
