//! Failures of orders, as sentences with the remedy.

use fairlead_model::Failure;
use instant_acme::{Error, Problem};

/// Failure of an order.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", failure.code, failure.message)]
pub struct OrderError {
    pub failure: Failure,
    /// Earliest time of another attempt, as the authority demands; zero: it names none.
    pub retry_after_unix_ms: u64,
}

/// Prefix of the types of ACME problems (RFC 8555, 6.7).
const PROBLEM: &str = "urn:ietf:params:acme:error:";
/// Maximum length of text from the authority in a message.
const DETAIL_CHARS_MAX: usize = 400;

pub(crate) fn failure(code: &str, message: impl Into<String>) -> Failure {
    Failure { code: code.into(), message: message.into() }
}

/// Translates an error of the ACME client.
pub(crate) fn of_client(error: &Error) -> Failure {
    match error {
        Error::Api(problem) => of_problem(problem),
        Error::Timeout(_) => failure(
            "certificate.timeout",
            "The certificate authority did not decide in time. The order is tried again.",
        ),
        Error::Other(cause) => failure(
            "certificate.authority_unreachable",
            format!("The certificate authority can't be used: {}.", clip(&cause.to_string())),
        ),
        other => failure(
            "certificate.authority_invalid",
            format!("The certificate authority's answer can't be used: {}.", clip(&other.to_string())),
        ),
    }
}

/// Translates an error of a request that any usable account may make.
pub(crate) fn of_account(error: &Error) -> Failure {
    let Error::Api(problem) = error else { return of_client(error) };
    let kind = problem.r#type.as_deref().and_then(|kind| kind.strip_prefix(PROBLEM));
    if !matches!(kind, Some("unauthorized" | "accountDoesNotExist")) {
        return of_problem(problem);
    }
    let says = clip(problem.detail.as_deref().unwrap_or("no reason given"));
    let remedy = "The authority no longer accepts the account. Fairlead makes a new one and orders again.";
    failure("certificate.account_revoked", format!("{remedy} It says: “{says}”"))
}

/// Translates a problem that the authority reports.
pub(crate) fn of_problem(problem: &Problem) -> Failure {
    // The cause of one host is in its subproblem.
    let cause = problem.subproblems.first().map(|sub| (sub.r#type.as_deref(), sub.detail.as_deref()));
    let (kind, detail) = cause.unwrap_or((problem.r#type.as_deref(), problem.detail.as_deref()));
    let kind = kind.and_then(|kind| kind.strip_prefix(PROBLEM)).unwrap_or_default();
    let says = clip(detail.unwrap_or("no reason given"));
    let (code, remedy) = match kind {
        "dns" => ("certificate.dns", "The name can't be resolved. Check its DNS records."),
        "connection" => (
            "certificate.unreachable",
            "The authority can't reach the server. Check the name's DNS records, and that ports 80 and 443 are open.",
        ),
        "unauthorized" | "incorrectResponse" => {
            ("certificate.wrong_answer", "Another server answered for this name. Check its DNS records.")
        }
        "caa" => {
            ("certificate.caa", "A CAA record forbids this authority. Change the record or choose another authority.")
        }
        "rateLimited" => {
            ("certificate.rate_limited", "The authority's rate limit is reached. The order is tried again later.")
        }
        "rejectedIdentifier" => ("certificate.rejected", "The authority issues no certificates for this name."),
        "externalAccountRequired" => (
            "certificate.account",
            "The authority requires external account binding (EAB). Set acme.eab_key_id and acme.eab_hmac_key_file.",
        ),
        "userActionRequired" => (
            "certificate.account",
            "The authority requires consent to new terms of service. Follow its message, then order again.",
        ),
        _ => ("certificate.refused", "The authority refused the order."),
    };
    failure(code, format!("{remedy} It says: “{says}”"))
}

fn clip(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(DETAIL_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(kind: &str, detail: &str) -> Problem {
        let (kind, detail, status, subproblems) =
            (Some(format!("{PROBLEM}{kind}")), Some(detail.into()), None, Vec::new());
        Problem { r#type: kind, detail, status, subproblems }
    }

    #[test]
    fn a_problem_becomes_a_code_and_a_remedy_with_the_words_of_the_authority() {
        for (kind, code) in [
            ("dns", "certificate.dns"),
            ("connection", "certificate.unreachable"),
            ("unauthorized", "certificate.wrong_answer"),
            ("caa", "certificate.caa"),
            ("rateLimited", "certificate.rate_limited"),
            ("externalAccountRequired", "certificate.account"),
            ("malformed", "certificate.refused"),
        ] {
            let failure = of_problem(&problem(kind, "because\nof it"));
            assert_eq!(failure.code, code);
            assert!(failure.message.ends_with("It says: “becauseof it”"), "{}", failure.message);
        }
    }

    #[test]
    fn an_account_that_is_refused_differs_from_a_host_that_is() {
        for (kind, code) in [
            ("unauthorized", "certificate.account_revoked"),
            ("accountDoesNotExist", "certificate.account_revoked"),
            ("rateLimited", "certificate.rate_limited"),
        ] {
            assert_eq!(of_account(&Error::Api(problem(kind, "because"))).code, code);
        }
        assert_eq!(of_account(&Error::Other("refused".into())).code, "certificate.authority_unreachable");
    }
}
