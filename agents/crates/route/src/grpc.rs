//! gRPC rules for a proxy: the outcome of a call is in trailers, so the proxy's own responses need a `grpc-status` too.

/// Maximum timeout: a caller may not occupy an app for longer, whatever it requests.
const TIMEOUT_MS_MAX: u64 = 3_600_000;

/// True for gRPC's Content-Type: `application/grpc` with or without a format or parameters. Not gRPC-Web, which is
/// another protocol.
pub fn is_grpc(content_type: &[u8]) -> bool {
    const NAME: &[u8] = b"application/grpc";
    let Some((name, rest)) = content_type.split_at_checked(NAME.len()) else { return false };
    name.eq_ignore_ascii_case(NAME) && matches!(rest.first(), None | Some(b'+' | b';' | b' '))
}

/// Parses the timeout of a call to milliseconds, rounded up and at most an hour. Returns `None` for an invalid one. The
/// value of `grpc-timeout` has at most eight digits and a unit.
pub fn grpc_timeout_ms(value: &[u8]) -> Option<u32> {
    let (unit, digits) = value.split_last()?;
    if !(1..=8).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let amount = digits.iter().fold(0u64, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    let ms = match unit {
        b'H' => amount * 3_600_000,
        b'M' => amount * 60_000,
        b'S' => amount * 1000,
        b'm' => amount,
        b'u' => amount.div_ceil(1000),
        b'n' => amount.div_ceil(1_000_000),
        _ => return None,
    };
    u32::try_from(ms.min(TIMEOUT_MS_MAX)).ok()
}

/// Returns the `grpc-status` of a proxy's own response with this HTTP status.
pub fn grpc_status(http_status: u16) -> u8 {
    match http_status {
        // CANCELLED: the caller stopped sending.
        408 => 1,
        // DEADLINE_EXCEEDED
        504 => 4,
        // PERMISSION_DENIED
        403 => 7,
        // RESOURCE_EXHAUSTED: a limit was exceeded.
        413 | 429 | 431 => 8,
        // UNIMPLEMENTED: there is no such method.
        404 | 405 | 501 => 12,
        // INTERNAL: the request is not valid.
        400 | 414 | 417 | 500 | 505 => 13,
        // UNAVAILABLE: a retry may help.
        502 | 503 => 14,
        // UNAUTHENTICATED
        401 => 16,
        // UNKNOWN
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grpc_is_known_by_its_type_alone() {
        for kind in ["application/grpc", "Application/GRPC+proto", "application/grpc;x=y", "application/grpc ; x"] {
            assert!(is_grpc(kind.as_bytes()), "{kind}");
        }
        for kind in ["application/grpc-web", "application/grpc-web+proto", "application/json", "", "application/grp"] {
            assert!(!is_grpc(kind.as_bytes()), "{kind}");
        }
    }

    #[test]
    fn a_timeout_is_digits_and_a_unit_and_no_longer_than_an_hour() {
        for (value, ms) in [
            ("1H", 3_600_000),
            ("2M", 120_000),
            ("30S", 30_000),
            ("1500m", 1500),
            ("1001u", 2),
            ("1n", 1),
            ("0S", 0),
            ("99999999H", 3_600_000),
        ] {
            assert_eq!(grpc_timeout_ms(value.as_bytes()), Some(ms), "{value}");
        }
        for value in ["", "S", "1", "1s", "123456789m", "-1S", "+1S", "1.5S", " 1S", "1 S"] {
            assert_eq!(grpc_timeout_ms(value.as_bytes()), None, "{value}");
        }
    }

    #[test]
    fn what_may_help_again_is_unavailable_and_what_may_not_is_not() {
        assert_eq!([502, 503].map(grpc_status), [14, 14]);
        assert_eq!([504, 404, 401, 403, 429, 400].map(grpc_status), [4, 12, 16, 7, 8, 13]);
        assert_eq!(grpc_status(302), 2);
    }
}
