//! Curves as pictures: their panels, and means that keep the ends.

use super::*;

#[test]
fn pictures_have_a_panel_for_each_number_that_there_is() {
    let loss = Curve {
        name: "loss & more".to_owned(),
        steps: (1..=2000).map(|step| (step, 2.0 / step as f64)).collect(),
        evaluations: vec![(1000, 0.5), (2000, f64::NAN)],
    };
    let svg = curves("m", &[loss.clone(), Curve { name: "absent".to_owned(), ..Curve::default() }]);
    assert!(svg.contains("loss &amp; more") && svg.contains(">1e-3<") && !svg.contains("absent"), "{svg}");
    assert_eq!(svg.matches("<circle").count(), 1);
    assert!(svg.len() < 40_000 && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    assert!(curves("m", &[]).contains("no step"));
    let one = Curve { name: "x".to_owned(), steps: vec![(1, 0.0)], evaluations: Vec::new() };
    assert!(!curves("m", &[one]).contains("NaN"));
}

#[test]
fn means_keep_the_ends() {
    let points: Vec<(u64, f64)> = (0..1000).map(|i| (i, i as f64)).collect();
    let mean = moving_mean(&points);
    assert_eq!((mean[0], *mean.last().unwrap()), ((0, 0.0), (999, 999.0)));
    assert!(means(&points, 100).len() == 100 && means(&[], 10).is_empty());
}
