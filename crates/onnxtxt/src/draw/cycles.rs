//! Groups that values leave and enter again: their boxes would be above and below another one at the same time.

use super::links::Link;
use super::scene::ItemId;
use onnx_ir::pass::components;
use std::collections::HashMap;

/// The members that lie on cycles of links, cycle by cycle.
pub(super) fn cycles(members: &[ItemId], links: &[Link]) -> Vec<Vec<ItemId>> {
    let index: HashMap<ItemId, usize> = members.iter().enumerate().map(|(at, &item)| (item, at)).collect();
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); members.len()];
    for link in links {
        let ends = (link.from.and_then(|item| index.get(&item)), link.to.and_then(|item| index.get(&item)));
        if let (Some(&from), Some(&to)) = ends {
            next[from].push(to);
        }
    }
    let mut found = Vec::new();
    for component in components(&next) {
        if component.len() > 1 {
            found.push(component.into_iter().map(|at| members[at]).collect());
        }
    }
    found
}
