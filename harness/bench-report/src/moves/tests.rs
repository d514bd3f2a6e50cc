use super::*;
use bench_core::moves::{AcceptedMove, Compared, Rules, judge};
use bench_core::{Finding, Verdict};

const MARGIN: Percent = Percent(0.03);
const BASE: &str = "0123456789abcdef0123456789abcdef01234567";

fn measured(value: f64, interval: (f64, f64), verdict: Verdict, within_margin: bool) -> Found {
    Found::Measured(Finding {
        ratio: Estimate { value, interval: Some(interval) },
        confidence: Some(0.99),
        blocks: 20,
        verdict,
        within_margin,
        answered: true,
        blocks_needed: None,
    })
}

fn of(figure: Moved, found: Option<Found>) -> Compared {
    Compared { server: "actix".into(), request: "getBlocks".into(), figure, found }
}

fn rules(accepted: &Accepted) -> Rules<'_> {
    Rules { margin: MARGIN, only_slower: false, accepted: Some(accepted) }
}

fn judged(found: Found, accepted: &Accepted) -> (String, State) {
    let figure = if matches!(found, Found::Counted(..)) { Moved::Instructions } else { Moved::Cpu };
    let judgement = judge(BASE, &[of(figure, Some(found))], rules(accepted));
    (text(&judgement), judgement.state)
}

fn accepting(ratio: f64) -> Accepted {
    let accepted = AcceptedMove {
        base: BASE[..12].into(),
        server: "actix".into(),
        request: "getBlocks".into(),
        figure: Moved::Cpu,
        ratio,
        reason: "plain answers".into(),
    };
    Accepted { base: String::new(), moves: vec![accepted] }
}

#[test]
fn a_move_is_named_in_either_direction_and_a_small_one_is_not() {
    let none = Accepted::default();
    let slower = measured(1.05, (1.04, 1.06), Verdict::Slower, false);
    let (said, state) = judged(slower, &none);
    assert_eq!(state, State::Moved);
    assert!(
        said.contains("actix getBlocks: CPU per request 1.050 [1.040, 1.060], 20 blocks: MOVED"),
        "{said}"
    );
    let faster = measured(0.9, (0.88, 0.92), Verdict::Faster, false);
    assert_eq!(judged(faster, &none).1, State::Moved);
    let small = measured(1.01, (1.005, 1.015), Verdict::DifferentButSmall, true);
    assert_eq!(judged(small, &none).1, State::Still);
    let open = measured(1.025, (1.005, 1.045), Verdict::DifferentButSmall, false);
    assert_eq!(judged(open, &none).1, State::Undecided);
    let unmeasured = |figure| judge(BASE, &[of(figure, None)], rules(&none));
    assert_eq!(unmeasured(Moved::Cpu).state, State::Undecided);
    assert!(text(&unmeasured(Moved::Cpu)).ends_with("CPU per request: not measured\n"));
    let uncounted = unmeasured(Moved::Instructions);
    assert_eq!(
        (text(&uncounted), uncounted.state),
        (String::new(), State::Undecided),
        "nothing was measured"
    );
}

#[test]
fn a_program_reads_what_was_judged() {
    let slower = of(Moved::Cpu, Some(measured(1.05, (1.04, 1.06), Verdict::Slower, false)));
    let judgement = judge(BASE, &[slower, of(Moved::Cpu, None)], rules(&accepting(1.05)));
    let json = serde_json::to_value(&judgement).unwrap();
    assert_eq!((&json["base"], &json["state"]), (&BASE.into(), &"undecided".into()));
    let first = &json["comparisons"][0];
    assert_eq!((&first["state"], &first["reason"]), (&"accepted".into(), &"plain answers".into()));
    assert_eq!((&first["ratio"], &first["interval"][1]), (&1.05.into(), &1.06.into()));
    assert!(json["comparisons"][1]["ratio"].is_null(), "{json}");
}

#[test]
fn instructions_move_without_an_interval() {
    let none = Accepted::default();
    assert_eq!(judged(Found::Counted(10_000.0, 10_290.0), &none).1, State::Still);
    let (said, state) = judged(Found::Counted(10_000.0, 10_400.0), &none);
    assert!(state == State::Moved && said.contains("10,400 instead of 10,000"), "{said}");
    assert_eq!(judged(Found::Counted(10_400.0, 10_000.0), &none).1, State::Moved);
}

#[test]
fn where_only_slower_ones_are_looked_for_a_faster_one_is_no_finding() {
    let judge = |figure, found| {
        let rules = Rules { margin: MARGIN, only_slower: true, accepted: None };
        judge(BASE, &[of(figure, Some(found))], rules)
    };
    let state = |found| judge(Moved::Cpu, found).state;
    assert_eq!(state(measured(0.9, (0.88, 0.92), Verdict::Faster, false)), State::Still);
    assert_eq!(state(measured(1.05, (1.04, 1.06), Verdict::Slower, false)), State::Moved);
    let below = measured(0.98, (0.94, 1.02), Verdict::Inconclusive, false);
    assert_eq!(state(below), State::Still, "how much faster it may be is no question");
    assert_eq!(state(measured(1.0, (0.96, 1.04), Verdict::Inconclusive, false)), State::Undecided);
    assert_eq!(judge(Moved::Instructions, Found::Counted(10_000.0, 9_000.0)).state, State::Still);
    assert_eq!(judge(Moved::Instructions, Found::Counted(10_000.0, 10_400.0)).state, State::Moved);
    let rate =
        |value: f64, interval, verdict| judge(Moved::Rate, measured(value, interval, verdict, false)).state;
    assert_eq!(rate(0.5, (0.45, 0.55), Verdict::Slower), State::Moved, "it waits, which takes no CPU time");
    assert_eq!(rate(0.9, (0.85, 0.95), Verdict::Slower), State::Still, "the kernel shares no better");
    assert_eq!(rate(0.7, (0.5, 0.9), Verdict::Slower), State::Still, "which may be no more than that");
}

#[test]
fn the_page_of_a_job_says_the_answer_first() {
    let slower = of(Moved::Cpu, Some(measured(1.05, (1.04, 1.06), Verdict::Slower, false)));
    let rules = Rules { margin: MARGIN, only_slower: true, accepted: None };
    let judgement = judge(BASE, &[slower, of(Moved::Cpu, None)], rules);
    let page = markdown(&judgement).unwrap();
    assert!(page.starts_with("### actix: slower\n"), "{page}");
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>().join("|");
    let rows: Vec<String> = page.lines().filter(|line| line.starts_with("| actix")).map(cells).collect();
    let first =
        "|actix|getBlocks|CPU per request|1.050 [1.040, 1.060], 20 blocks|**SLOWER by more than 3%**|";
    assert_eq!(rows, [first, "|actix|getBlocks|CPU per request|not measured|inconclusive|"]);
    assert!(!text(&judgement).contains("[[move]]"), "there is no file to add it to");
    let nothing = judge(BASE, &[], rules);
    assert_eq!((answer(&nothing), nothing.state), ("nothing was measured".to_owned(), State::Undecided));
}

#[test]
fn an_accepted_move_needs_the_same_base_and_about_the_same_ratio() {
    let moved = measured(1.05, (1.04, 1.06), Verdict::Slower, false);
    let (said, state) = judged(moved, &accepting(1.06));
    assert!(state == State::Accepted && said.contains("accepted: plain answers"), "{said}");
    assert_eq!(judged(moved, &accepting(1.12)).1, State::Moved, "it moved further than was accepted");
    assert_eq!(judged(moved, &accepting(0.95)).1, State::Moved, "the other way");
    let mut other = accepting(1.05);
    other.moves[0].base = "fedcba9876543".into();
    assert_eq!(judged(moved, &other).1, State::Moved, "from another commit");
}

#[test]
fn what_it_prints_can_be_pasted() {
    let (said, _) = judged(measured(1.05, (1.04, 1.06), Verdict::Slower, false), &Accepted::default());
    let lines = said.split_once("[[move]]").unwrap().1.replace("reason = \"\"", "reason = \"why\"");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("accepted.toml");
    std::fs::write(&path, format!("base = \"{BASE}\"\n\n[[move]]{lines}")).unwrap();
    let accepted = Accepted::read(&path).unwrap();
    assert_eq!(judged(measured(1.05, (1.04, 1.06), Verdict::Slower, false), &accepted).1, State::Accepted);
    std::fs::write(&path, format!("base = \"{BASE}\"\n\n[[move]]{}", said.split_once("[[move]]").unwrap().1))
        .unwrap();
    let refused = format!("{:#}", Accepted::read(&path).unwrap_err());
    assert!(refused.contains("reason") && refused.lines().count() == 1, "{refused}");
}
