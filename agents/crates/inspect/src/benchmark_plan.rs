//! Reads a committed fairlead.bench.json. The control plane checks its content; a file that can't be read stops no build.

use serde_json::Value;

use crate::Files;

const FILE: &str = "fairlead.bench.json";
const BYTES_MAX: usize = 256 * 1024;

/// Returns the plan without needless white space, empty if there is none, or a sentence that says why it can't be read.
pub(crate) fn read(files: &Files) -> (Option<String>, Option<String>) {
    let problem = |why: String| (None, Some(format!("The benchmark plan of `{FILE}` is not used: {why}.")));
    match files.text(FILE) {
        Ok(None) => (Some(String::new()), None),
        Ok(Some(text)) if text.len() > BYTES_MAX => problem(format!("it has more than {} KiB", BYTES_MAX / 1024)),
        Ok(Some(text)) => match serde_json::from_str::<Value>(&text) {
            Ok(value) => (Some(value.to_string()), None),
            Err(error) => problem(format!("it is not JSON ({error})")),
        },
        Err(_) => problem("it can't be read as text".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: Option<&[u8]>) -> (Option<String>, Option<String>) {
        let folder = tempfile::tempdir().unwrap();
        if let Some(text) = text {
            std::fs::write(folder.path().join(FILE), text).unwrap();
        }
        read(&Files::new(folder.path().to_owned()))
    }

    #[test]
    fn a_plan_is_passed_on_and_an_unreadable_one_is_a_sentence() {
        assert_eq!(read_text(None), (Some(String::new()), None));
        assert_eq!(read_text(Some(b" { \"plan\": {} }\n")), (Some("{\"plan\":{}}".to_owned()), None));
        for (text, why) in [
            (b"{".to_vec(), "it is not JSON"),
            (b"\xff".to_vec(), "it can't be read as text"),
            (vec![b' '; BYTES_MAX + 1], "it has more than 256 KiB"),
        ] {
            let (plan, sentence) = read_text(Some(&text));
            assert_eq!(plan, None);
            assert!(sentence.unwrap().contains(why), "{why}");
        }
    }
}
