//! Conversion of `Tile`.

use crate::change::site::{ConvertSite, Note};

/// Tile had the number of repetitions and the axis as inputs.
pub(super) fn tile_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let (tiles, axis) = (s.numbers_of(1, "tiles")?, s.numbers_of(2, "axis")?);
    let (Some(&[tiles]), Some(&[axis])) = (tiles.as_deref(), axis.as_deref()) else {
        return Err("`tiles` and `axis` are not scalars".to_owned());
    };
    let rank = s.rank(0)?;
    let mut repeats = vec![1; usize::try_from(rank).unwrap_or_default()];
    let at = repeats.get_mut(axis as usize).ok_or("`axis` is out of range")?;
    *at = tiles as i64;
    let repeats = s.int_list("repeats", repeats);
    s.set_input(2, None);
    s.set_input(1, Some(repeats));
    Ok(Some("`tiles` and `axis` become a list of repeats".to_owned()))
}

pub(super) fn tile_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let repeats = s.ints_of(1, "repeats")?.unwrap_or_default();
    let mut repeated = repeats.iter().enumerate().filter(|(_, count)| **count != 1);
    let (axis, count) = repeated.next().map_or((0, 1), |(axis, count)| (axis, *count));
    if repeated.next().is_some() {
        return Err("it repeats along several axes".to_owned());
    }
    let elem = s.elem(0)?;
    let tiles = s.scalar("tiles", elem, count as f32)?;
    let axis = s.scalar("axis", elem, axis as f32)?;
    s.set_input(1, Some(tiles));
    s.set_input(2, Some(axis));
    Ok(Some("the repeats become `tiles` and `axis`".to_owned()))
}
