//! The question of `grpc.health.v1.Health/Check`, and its answer, with the five bytes before each
//! message of gRPC.

use crate::protobuf::{self, Field, fields};

/// The path of the method.
pub const CHECK: &str = "/grpc.health.v1.Health/Check";

/// What a server says about a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServingStatus {
    Unknown,
    Serving,
    NotServing,
    ServiceUnknown,
}

impl ServingStatus {
    pub const ALL: [Self; 4] = [
        Self::NotServing,
        Self::Serving,
        Self::ServiceUnknown,
        Self::Unknown,
    ];

    /// The name in the protocol's definition.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::Serving => "SERVING",
            Self::NotServing => "NOT_SERVING",
            Self::ServiceUnknown => "SERVICE_UNKNOWN",
        }
    }

    /// Reads the body of an answer; `None` if it is compressed, cut short, or says something that
    /// the protocol does not define.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let (prefix, rest) = body.split_first_chunk::<5>()?;
        let [0, length @ ..] = *prefix else {
            return None;
        };
        let length = usize::try_from(u32::from_be_bytes(length)).ok()?;
        let message = rest.get(..length)?;
        let mut status = 0;
        for (number, field) in fields(message) {
            if let (1, Field::Number(value)) = (number, field) {
                status = value;
            }
        }
        match status {
            0 => Some(Self::Unknown),
            1 => Some(Self::Serving),
            2 => Some(Self::NotServing),
            3 => Some(Self::ServiceUnknown),
            _ => None,
        }
    }
}

/// The body of a question about a service; an empty name is the server as a whole.
pub fn check_request(service: &str) -> Vec<u8> {
    let mut message = Vec::new();
    if !service.is_empty() {
        protobuf::bytes(&mut message, 1, service.as_bytes());
    }
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    [&[0], &length.to_be_bytes() as &[u8], &message].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_answers_are_those_of_the_protocol() {
        assert_eq!(check_request(""), [0, 0, 0, 0, 0]);
        assert_eq!(check_request("ab"), *b"\0\0\0\0\x04\x0a\x02ab");
        for (body, status) in [
            (&b"\0\0\0\0\0"[..], Some(ServingStatus::Unknown)),
            (b"\0\0\0\0\x02\x08\x01", Some(ServingStatus::Serving)),
            (b"\0\0\0\0\x02\x08\x02", Some(ServingStatus::NotServing)),
            (b"\0\0\0\0\x02\x08\x03", Some(ServingStatus::ServiceUnknown)),
            (b"\0\0\0\0\x02\x08\x09", None),
            (b"\x01\0\0\0\x02\x08\x01", None),
            (b"\0\0\0\0\x03\x08\x01", None),
            (b"\0\0\0", None),
        ] {
            assert_eq!(ServingStatus::parse(body), status, "{body:?}");
        }
    }
}
