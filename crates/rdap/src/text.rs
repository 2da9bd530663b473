//! How an answer is told to people: readable text, whois-like lines, columns, single fields.
