//! What comes back: thin types over the JSON of RFC 9083, which keep every member they do not know.
