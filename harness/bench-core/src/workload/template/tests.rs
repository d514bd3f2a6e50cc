//! That parameters are drawn as they are written.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde_json::json;

use super::*;
use crate::tests::each_is_refused;

fn drawn(parameters: Value) -> Vec<Value> {
    let template = Template::new(&parameters).unwrap();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let one = |_| {
        let mut out = String::new();
        template.write(&[], &mut random, &mut out);
        serde_json::from_str(&out).unwrap()
    };
    (0..300).map(one).collect()
}

#[test]
fn values_are_drawn_wherever_they_stand() {
    let all = drawn(json!([
        { "to": { "one_of": ["x", "y"] }, "data": { "join": ["0x70", { "range": [16, 17], "hex": true }, "\""] } },
        { "range": [5, 7] },
        { "range": [255, 256], "hex": true },
    ]));
    let of = |pointer: &str| {
        let mut found: Vec<String> =
            all.iter().map(|drawn| drawn.pointer(pointer).unwrap().to_string()).collect();
        found.sort();
        found.dedup();
        found
    };
    assert_eq!(of("/0/to"), ["\"x\"", "\"y\""]);
    assert_eq!(of("/0/data"), [r#""0x700x10\"""#, r#""0x700x11\"""#]);
    assert_eq!(of("/1"), ["5", "6", "7"]);
    assert_eq!(of("/2"), ["\"0x100\"", "\"0xff\""]);
}

#[test]
fn parameters_by_name_are_drawn_too() {
    let all = drawn(json!({ "item": { "one_of": ["a", "b"] }, "most": 5 }));
    assert!(all.iter().all(|one| one["most"] == 5 && (one["item"] == "a" || one["item"] == "b")), "{all:?}");
    assert!(all.iter().any(|one| one["item"] == "a") && all.iter().any(|one| one["item"] == "b"));
    for wrong in [json!({ "one_of": [1] }), json!(5)] {
        assert!(format!("{:#}", Template::new(&wrong).unwrap_err()).contains("field params"), "{wrong}");
    }
}

#[test]
fn the_first_values_are_drawn_most_often_by_zipfs_law() {
    let all = drawn(json!([{ "one_of": ["a", "b", "c", "d"], "zipf": 2.0 }]));
    let count = |name: &str| all.iter().filter(|drawn| drawn[0] == name).count();
    assert!(count("a") > 180 && count("a") > count("b") && count("b") > count("d"), "{}", count("a"));
}

#[test]
fn numbers_below_the_newest_are_drawn_once_that_is_known() {
    let parameters = json!([{ "newest": { "method": "height" }, "minus": [1, 3], "hex": true }]);
    let mut template = Template::new(&parameters).unwrap();
    let call = template.newest().next().unwrap().0.clone();
    assert_eq!(call.body(), r#"{"id":1,"jsonrpc":"2.0","method":"height"}"#);
    assert_eq!(call.number(&json!({ "result": "0x20" })), Some(32));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut found = |template: &Template| {
        let mut one = || {
            let mut out = String::new();
            template.write(&[], &mut random, &mut out);
            out
        };
        let mut all: Vec<String> = std::iter::repeat_with(&mut one).take(100).collect();
        all.sort();
        all.dedup();
        all
    };
    assert_eq!(found(&template), [r#"["0x0"]"#, r#"["0x1"]"#, r#"["0x2"]"#]);
    template.newest().for_each(|(_, newest)| *newest = 32);
    assert_eq!(found(&template), [r#"["0x1d"]"#, r#"["0x1e"]"#, r#"["0x1f"]"#]);
}

#[test]
fn the_lines_of_a_file_are_texts() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("names.txt"), "ann\nb \"c\"\n").unwrap();
    let mut parameters = json!([{ "of": [{ "lines": "names.txt" }] }]);
    locate(&mut parameters, folder.path()).unwrap();
    let all = drawn(parameters);
    assert!(all.iter().any(|drawn| drawn[0]["of"][0] == "ann"));
    assert!(all.iter().any(|drawn| drawn[0]["of"][0] == "b \"c\""));
}

#[test]
fn a_generator_that_makes_no_sense_is_named() {
    each_is_refused("generators", "[{}]", |text| Template::new(&serde_json::from_str(text).unwrap()));
}
