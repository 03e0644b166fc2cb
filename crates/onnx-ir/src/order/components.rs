//! Strongly connected components of a graph.

/// The strongly connected components of a graph whose nodes have these successors (Tarjan's algorithm, without recursion).
pub fn components(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let mut number = vec![NEW; next.len()];
    let mut low = vec![0; next.len()];
    let mut is_open = vec![false; next.len()];
    let (mut open, mut found, mut count) = (Vec::new(), Vec::new(), 0);
    for start in 0..next.len() {
        if number[start] != NEW {
            continue;
        }
        let mut calls = vec![(start, 0)];
        while let Some((node, at)) = calls.pop() {
            if at == 0 {
                number[node] = count;
                low[node] = count;
                count += 1;
                open.push(node);
                is_open[node] = true;
            }
            if let Some(&to) = next[node].get(at) {
                calls.push((node, at + 1));
                if number[to] == NEW {
                    calls.push((to, 0));
                } else if is_open[to] {
                    low[node] = low[node].min(number[to]);
                }
                continue;
            }
            if let Some(&(caller, _)) = calls.last() {
                low[caller] = low[caller].min(low[node]);
            }
            if low[node] == number[node] {
                let from = open.iter().rposition(|&other| other == node).unwrap_or(0);
                let component = open.split_off(from);
                component.iter().for_each(|&node| is_open[node] = false);
                found.push(component);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::components;

    #[test]
    fn cycles_are_components() {
        let mut found = components(&[vec![1], vec![2], vec![0, 3], vec![4], vec![]]);
        found.iter_mut().for_each(|component| component.sort_unstable());
        found.sort();
        assert_eq!(found, [vec![0, 1, 2], vec![3], vec![4]]);
    }
}
