use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::*;

fn redactor(values: &[&str]) -> Redactor {
    Redactor::new(values.iter().map(|value| value.as_bytes())).unwrap()
}

fn in_pieces(redactor: &Redactor, text: &[u8], size: usize) -> String {
    let (mut stream, mut out) = (redactor.stream(), Vec::new());
    for piece in text.chunks(size) {
        stream.take(piece, &mut out);
    }
    stream.finish(&mut out);
    String::from_utf8(out).unwrap()
}

const SECRET: &str = "p@ss/w\"ord+\u{e9}<1>";

#[test]
fn every_form_is_redacted_and_the_surrounding_text_stays() {
    let percent = "p%40ss%2Fw%22ord%2B%C3%A9%3C1%3E";
    let forms = [
        SECRET.to_owned(),
        percent.to_owned(),
        percent.replace("%2F", "%2f").replace("%2B", "%2b").replace("%C3%A9%3C1%3E", "%c3%a9%3c1%3e"),
        STANDARD.encode(SECRET),
        URL_SAFE_NO_PAD.encode(SECRET),
        "p@ss/w\\\"ord+\u{e9}<1>".to_owned(),
        "p@ss\\/w\\\"ord+\u{e9}<1>".to_owned(),
        "p@ss/w\\\"ord+\\u00e9<1>".to_owned(),
        "p@ss/w\\\"ord+\u{e9}\\u003C1\\u003E".to_owned(),
    ];
    let redactor = redactor(&["other-secret", SECRET]);
    for form in forms {
        assert_eq!(redactor.text(&format!("a {form} b")), "a [redacted] b", "{form}");
    }
    assert_eq!(redactor.text("other-secretother-secre"), "[redacted]other-secre");
}

#[test]
fn a_color_inside_a_secret_does_not_show_it() {
    let redactor = redactor(&["correct-horse-battery"]);
    for (text, redacted) in [
        ("a \u{1b}[31mcorrect-\u{1b}[1mhorse\u{1b}[0m-battery\u{1b}[0m", "a [redacted]"),
        ("correct-\u{1b}[2Khorse-battery \u{1b}[32mok", "[redacted] ok"),
        // The colors around a secret stay.
        ("\u{1b}[31mcorrect-horse-battery\u{1b}[0m ok", "\u{1b}[31m[redacted]\u{1b}[0m ok"),
        ("\u{1b}[31mcorrect\u{1b}[0m ok", "\u{1b}[31mcorrect\u{1b}[0m ok"),
    ] {
        assert_eq!(redactor.text(text), redacted);
    }
}

#[test]
fn base64_of_a_longer_text_does_not_show_it_wherever_it_begins() {
    let redactor = redactor(&["correct-horse-battery"]);
    for before in 0..7 {
        let whole = format!("{}correct-horse-battery{}", "u".repeat(before), "t".repeat(before));
        for text in [STANDARD.encode(&whole), URL_SAFE_NO_PAD.encode(&whole)] {
            let left = redactor.text(&text);
            assert!(left.contains(REDACTED), "{left}");
            let around = left.len() - REDACTED.len();
            assert!(around <= text.len() - 26, "only the characters at the borders may stay: {left}");
        }
    }
}

#[test]
fn lines_of_a_secret_are_secrets_and_base64_broken_into_lines_is_found() {
    let pem = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSj\nabc\n-----END KEY-----\n";
    let redactor = redactor(&[pem]);
    assert_eq!(redactor.text("x AQEFAASCBKcwggSj y"), "x [redacted] y");
    assert_eq!(redactor.text(&format!("[{pem}]")).replace("[redacted]", "").replace('\n', ""), "[]");
    let encoded = STANDARD.encode(pem);
    let broken: Vec<&str> = (0..encoded.len()).step_by(20).map(|at| &encoded[at..encoded.len().min(at + 20)]).collect();
    let left = redactor.text(&format!("key:\r\n{}\r\nend", broken.join("\r\n")));
    assert_eq!(left.replace("[redacted]\r\n", ""), "key:\r\nend");
}

#[test]
fn short_values_are_left_alone() {
    assert!(Redactor::new([b"short".as_slice(), b""]).is_none());
    assert_eq!(redactor(&["on", "long-enough"]).text("on and on: long-enough"), "on and on: [redacted]");
}

#[test]
fn a_held_line_is_emitted_when_no_more_input_comes() {
    let redactor = redactor(&["secret-value"]);
    let (mut stream, mut out) = (redactor.stream(), Vec::new());
    stream.take(b"ends like a sec\nand mo", &mut out);
    stream.take(b"re: se", &mut out);
    assert_eq!(out, b"ends like a sec\nand more: ");
    assert!(!stream.holds_line());
    stream.take(b"cret\n", &mut out);
    assert!(stream.holds_line());
    stream.flush_lines(&mut out);
    assert_eq!(out, b"ends like a sec\nand more: secret\n");
    stream.take(b"-value", &mut out);
    stream.finish(&mut out);
    assert_eq!(String::from_utf8(out).unwrap(), "ends like a sec\nand more: secret\n[redacted]");
}

/// Worst case of a search: everything is a prefix, nothing or everything matches. The automaton takes one step for each byte;
/// this test checks that the held bytes stay bounded.
#[test]
fn held_bytes_stay_within_one_form_and_memory_within_its_limit() {
    let (long, nearly) = ("a".repeat(20_000), "a".repeat(FORM_BYTES_MAX - 1));
    let many: Vec<String> = (0..400).map(|number| format!("{}{number}", "b".repeat(3000))).collect();
    let mut values: Vec<&str> = many.iter().map(String::as_str).collect();
    values.push(&long);
    let redactor = redactor(&values);
    assert!(redactor.0.depths.len() < 4 * FORMS_BYTES_MAX);
    let (mut stream, mut out) = (redactor.stream(), Vec::new());
    for _ in 0..100 {
        for text in [nearly.as_str(), "\n", "x", &long, "b"] {
            stream.take(text.as_bytes(), &mut out);
            assert!(stream.held.len() <= FORM_BYTES_MAX + 1, "{}", stream.held.len());
        }
    }
}

proptest! {
    #[test]
    fn it_does_not_matter_where_the_text_is_cut(
        words in prop::collection::vec("[a-c\n]{0,9}|secret-one|abcabc\ncab", 0..20),
        size in 1usize..12,
    ) {
        let redactor = redactor(&["secret-one", "abcabccab", "bcabcc", "ccccccc", "bbbbbb"]);
        let text = words.concat();
        let whole = in_pieces(&redactor, text.as_bytes(), usize::MAX);
        prop_assert_eq!(&in_pieces(&redactor, text.as_bytes(), size), &whole);
        let bare = whole.replace('\n', "").replace(REDACTED, "\0");
        for value in ["secret-one", "bcabcc", "ccccccc", "bbbbbb"] {
            prop_assert!(!bare.contains(value), "{:?} shows in {:?}", value, whole);
        }
        // The outer of two nested values is redacted as a whole.
        prop_assert_eq!(redactor.text("abcabccab"), REDACTED);
        prop_assert_eq!(whole.matches('\n').count(), text.matches('\n').count());
    }
}

#[test]
fn a_prefix_followed_only_by_line_ends_is_not_held_without_end() {
    let mut stream = redactor(&["sesame-open"]).stream();
    let (mut out, mut taken) = (Vec::new(), 1);
    stream.take(b"s", &mut out);
    for _ in 0..1000 {
        stream.take(&[b'\r'; 1000], &mut out);
        taken += 1000;
        assert!(stream.held.len() <= HELD_BYTES_MAX, "{}", stream.held.len());
    }
    stream.take(b" sesame-open", &mut out);
    stream.finish(&mut out);
    assert_eq!(out.len(), taken + 1 + REDACTED.len());
    assert!(out.ends_with(b" [redacted]"));
}
