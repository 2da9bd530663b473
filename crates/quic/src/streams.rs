//! The streams of a connection: what is written, what came, and how much either side may send. RFC 9000 §2–4.
