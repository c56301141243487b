//! The table of `benches/refresh` with fewer pages: ours stays near the optimum, ahead of others, and everything is visited.

#[path = "../../../benches/refresh/rules.rs"]
mod rules;
#[path = "../../../benches/refresh/web.rs"]
mod web;

use rules::Rule;
use web::{Measured, Plan, measure};

/// The mean of three webs of 1,000 pages, in their second year.
fn of(rule: Rule) -> Measured {
    let plan = |seed| Plan { pages: 1_000, seed, room: 0.1, watched: (365.0, 730.0) };
    let all = [1, 2, 3].map(|seed| measure(&plan(seed), rule));
    let mean = |of: fn(&Measured) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    Measured { fresh: mean(|one| one.fresh), age: mean(|one| one.age), visits: mean(|one| one.visits) }
}

#[test]
fn what_is_fresh_by_our_rule_is_near_the_optimum_and_ahead_of_the_rules_of_others() {
    let ours = of(Rule::Ours { wanted: 1.0, stretched: true });
    let optimum = of(Rule::Optimum);
    assert!(ours.fresh >= 0.98 * optimum.fresh, "{ours:?}, the optimum {optimum:?}");
    assert!(ours.age <= 0.5 && optimum.age > 5.0, "the optimum gives pages up: {ours:?} {optimum:?}");
    for (rule, least) in
        [(Rule::Uniform, 6.0), (Rule::Proportional, 15.0), (Rule::Steps(0.2, 0.4), 15.0), (Rule::Steps(0.5, 0.5), 13.0)]
    {
        let other = of(rule);
        assert!(ours.fresh >= other.fresh + least, "{rule:?}: {other:?}, ours {ours:?}");
        assert!((0.097..0.103).contains(&other.visits), "{rule:?} has as many visits: {other:?}");
    }
    assert!((0.095..=0.1001).contains(&ours.visits), "{ours:?}");
}

#[test]
fn where_three_times_more_is_wanted_than_can_be_had_longer_intervals_keep_more_fresh_than_a_queue() {
    let [late, stretched] = [false, true].map(|stretched| of(Rule::Ours { wanted: 3.0, stretched }));
    let ours = of(Rule::Ours { wanted: 1.0, stretched: true });
    assert!(stretched.fresh > late.fresh + 2.0, "{stretched:?} {late:?}");
    assert!((stretched.fresh - ours.fresh).abs() < 1.0, "as if no more were wanted: {stretched:?} {ours:?}");
    assert!(stretched.visits <= 0.1001 && late.visits <= 0.1001, "{stretched:?} {late:?}");
}
