//! What servers do wrong, and what an ask comes to.
