//! Reads a committed fairlead.bench.json. The control plane checks its content; a file that can't be read stops no build.

use serde::de::IgnoredAny;

use crate::Files;

const FILE: &str = "fairlead.bench.json";
/// Several builds share one report, which has a bound of 1 MiB.
const BYTES_MAX: usize = 64 * 1024;

/// Returns the text of the plan, empty if there is none, or a sentence that says why it can't be read.
pub(crate) fn read(files: &Files) -> (Option<String>, Option<String>) {
    let problem = |why: String| (None, Some(format!("The benchmark plan of `{FILE}` is not used: {why}.")));
    match files.text(FILE) {
        Ok(None) => (Some(String::new()), None),
        Ok(Some(text)) if text.len() > BYTES_MAX => problem(format!("it has more than {} KiB", BYTES_MAX / 1024)),
        Ok(Some(text)) => match serde_json::from_str::<IgnoredAny>(&text) {
            Ok(_) => (Some(text), None),
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
        let plan = " { \"plan\": {} }\n";
        assert_eq!(read_text(Some(plan.as_bytes())), (Some(plan.to_owned()), None));
        for (text, why) in [
            (b"{".to_vec(), "it is not JSON"),
            (b"\xff".to_vec(), "it can't be read as text"),
            (vec![b' '; BYTES_MAX + 1], "it has more than 64 KiB"),
        ] {
            let (plan, sentence) = read_text(Some(&text));
            assert_eq!(plan, None);
            assert!(sentence.unwrap().contains(why), "{why}");
        }
    }

    #[test]
    fn a_plan_is_never_longer_than_its_file() {
        // Each number has 309 digits in full.
        let plan = format!("[{}0]", "9e307,".repeat((BYTES_MAX - 3) / 6));
        assert!(plan.len() <= BYTES_MAX);
        assert_eq!(read_text(Some(plan.as_bytes())), (Some(plan), None));
    }
}
