//! Header rules of a route, compiled once so that a request only compares names.

use std::borrow::Cow;

use fairlead_model::{HeaderAction, HeaderRule};

use crate::header::is;

/// Compiled rules of one direction: names of fields to drop, then fields to add. Their order no longer matters. The
/// result equals that of applying the rules one by one, except for the order of different names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderRules {
    dropped: Box<[Box<[u8]>]>,
    added: Box<[AddedField]>,
    /// Cookies to add, joined: a request has one Cookie field (RFC 9113, 8.2.3).
    cookies: Box<[u8]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct AddedField {
    name: Box<[u8]>,
    value: Box<[u8]>,
}

impl HeaderRules {
    /// Compiles rules for requests. The app gets `consumed` fields only if a rule adds them. Returns `None` if nothing
    /// changes.
    pub fn of_requests(rules: &[HeaderRule], consumed: &[&str]) -> Option<Self> {
        let mut compiled = Self::compile(rules, consumed)?;
        let is_cookie = |added: &&AddedField| *added.name == *b"cookie";
        compiled.cookies = compiled
            .added
            .iter()
            .filter(is_cookie)
            .map(|added| &*added.value)
            .collect::<Vec<_>>()
            .join(&b"; "[..])
            .into();
        compiled.added = compiled.added.iter().filter(|added| !is_cookie(added)).cloned().collect();
        Some(compiled)
    }

    /// Compiles rules for responses; `None` if nothing changes.
    pub fn of_responses(rules: &[HeaderRule]) -> Option<Self> {
        Self::compile(rules, &[])
    }

    fn compile(rules: &[HeaderRule], consumed: &[&str]) -> Option<Self> {
        let mut dropped: Vec<&str> = consumed.to_vec();
        let mut added: Vec<(&str, &str)> = Vec::new();
        for rule in rules {
            let name = rule.name.as_str();
            if rule.action != HeaderAction::Append {
                added.retain(|(other, _)| *other != name);
                if !dropped.contains(&name) {
                    dropped.push(name);
                }
            }
            if rule.action != HeaderAction::Remove {
                added.push((name, &rule.value));
            }
        }
        if dropped.is_empty() && added.is_empty() {
            return None;
        }
        let field =
            |(name, value): &(&str, &str)| AddedField { name: name.as_bytes().into(), value: value.as_bytes().into() };
        Some(Self {
            dropped: dropped.iter().map(|name| name.as_bytes().into()).collect(),
            added: added.iter().map(field).collect(),
            cookies: Box::default(),
        })
    }

    /// True if a field of the message is dropped. `X_User` counts as `x-user`, as CGI-like apps read it: another
    /// spelling must not evade a rule.
    pub fn drops(&self, name: &[u8]) -> bool {
        self.dropped.iter().any(|dropped| is(name, dropped))
    }

    /// True if any rule concerns a field.
    pub fn names(&self, name: &[u8]) -> bool {
        self.drops(name) || self.added.iter().any(|added| is(name, &added.name))
    }

    /// Returns the trailer lines without the fields that a rule names: some apps merge trailers into the headers, where they
    /// would undo what a rule set or removed.
    pub fn trailers<'a>(&self, lines: &'a [u8]) -> Cow<'a, [u8]> {
        let kept = |line: &&[u8]| !self.names(line.split(|byte| *byte == b':').next().unwrap_or_default());
        let all = || lines.split_inclusive(|byte| *byte == b'\n');
        if all().all(|line| kept(&line)) {
            lines.into()
        } else {
            all().filter(kept).collect::<Vec<_>>().concat().into()
        }
    }

    /// Returns fields to send after those of the message.
    pub fn added(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.added.iter().map(|added| (&*added.name, &*added.value))
    }

    /// Returns text to add to a request's Cookie field; empty for none.
    pub(crate) fn cookies(&self) -> &[u8] {
        &self.cookies
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Field = (String, String);

    /// Simple model: applies one rule after the other to the whole list.
    fn slow(rules: &[HeaderRule], mut fields: Vec<Field>) -> Vec<Field> {
        let same = |name: &str, rule: &HeaderRule| name.to_ascii_lowercase().replace('_', "-") == rule.name;
        for rule in rules {
            if rule.action != HeaderAction::Append {
                fields.retain(|(name, _)| !same(name, rule));
            }
            if rule.action != HeaderAction::Remove {
                fields.push((rule.name.clone(), rule.value.clone()));
            }
        }
        fields
    }

    fn rule() -> impl Strategy<Value = HeaderRule> {
        let action = prop::sample::select(vec![HeaderAction::Set, HeaderAction::Append, HeaderAction::Remove]);
        let name = prop::sample::select(vec!["x-a", "x-b", "server", "cookie"]);
        (action, name, "[a-z]{0,3}").prop_map(|(action, name, value)| HeaderRule { action, name: name.into(), value })
    }

    fn field() -> impl Strategy<Value = Field> {
        (prop::sample::select(vec!["X-A", "x_a", "x-b", "Server", "other"]).prop_map(str::to_owned), "[a-z]{0,3}")
    }

    /// Sorts by name and keeps the order of values: the order of different names means nothing (RFC 9110, 5.3).
    fn by_name(mut fields: Vec<Field>) -> Vec<Field> {
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        fields
    }

    proptest! {
        #[test]
        fn compiled_rules_do_what_one_rule_after_the_other_does(
            rules in prop::collection::vec(rule(), 0..8), fields in prop::collection::vec(field(), 0..8)
        ) {
            let compiled = HeaderRules::of_responses(&rules);
            prop_assert_eq!(compiled.is_none(), rules.is_empty());
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let mut found: Vec<Field> = fields.clone();
            if let Some(compiled) = &compiled {
                found.retain(|(name, _)| !compiled.drops(name.as_bytes()));
                found.extend(compiled.added().map(|(name, value)| (text(name), text(value))));
            }
            prop_assert_eq!(by_name(found), by_name(slow(&rules, fields)));
        }
    }

    #[test]
    fn trailers_have_nothing_that_a_rule_is_about() {
        let rule = |action, name: &str| HeaderRule { action, name: name.into(), value: "v".into() };
        let rules = [
            rule(HeaderAction::Set, "x-user"),
            rule(HeaderAction::Remove, "x-debug"),
            rule(HeaderAction::Append, "x-tag"),
        ];
        let rules = HeaderRules::of_requests(&rules, &["authorization"]).unwrap();
        for dropped in ["X-User: red\r\n", "x_user: red\r\n", "X-Debug: 1\r\n", "X_Tag: 1\r\n", "authorization: a\r\n"]
        {
            let lines = format!("a: 1\r\n{dropped}b: x-user\r\n");
            assert_eq!(&*rules.trailers(lines.as_bytes()), b"a: 1\r\nb: x-user\r\n", "{dropped}");
        }
        assert!(matches!(rules.trailers(b"a: 1\r\n"), Cow::Borrowed(b"a: 1\r\n")));
        assert!(rules.trailers(b"").is_empty());
    }

    #[test]
    fn a_consumed_field_is_dropped_but_a_rule_may_set_it() {
        assert!(HeaderRules::of_requests(&[], &["authorization"]).unwrap().drops(b"Authorization"));
        let rule = HeaderRule { action: HeaderAction::Set, name: "authorization".into(), value: "Bearer x".into() };
        let rules = HeaderRules::of_requests(&[rule], &["authorization"]).unwrap();
        assert_eq!(rules.added().collect::<Vec<_>>(), [(&b"authorization"[..], &b"Bearer x"[..])]);
    }
}
