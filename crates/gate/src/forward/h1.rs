//! HTTP/1.1, as gate reads it from clients and backends. RFC 9112.

mod chunked;
mod head;
mod trailers;

pub(crate) use chunked::Chunked;
pub(crate) use head::{
    MAX_FIELDS, Response, ResponseBody, ResponseError, may_end, request, response,
};
pub(crate) use roundtrip_wire::http1::write_chunk;
pub(crate) use trailers::{Trailers, write_last_chunk};
