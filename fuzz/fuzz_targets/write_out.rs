//! Fuzzes write-out templates, rendered for an empty transfer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_model::Exchange;
use roundtrip_report::write_out::{Template, TemplateInput};

fuzz_target!(|text: &str| {
    for template in [Template::parse(text), Template::parse_file(text)]
        .into_iter()
        .flatten()
    {
        let hops = [Exchange::default()];
        let _ = template.render(&TemplateInput::new(&hops, text));
        let _ = template.unknown();
    }
});
