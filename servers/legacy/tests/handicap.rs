//! `--handicap-rounds` on every way that legacy has of answering.

use std::path::Path;

use server_kit::testing::assert_handicap_is_honoured;

#[test]
fn every_answered_call_pays_the_handicap_once() {
    assert_handicap_is_honoured(Path::new(env!("CARGO_BIN_EXE_server-legacy")));
}
