//! Conversion of `Tile`.

use crate::convert::site::{ConvertSite, Note};

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
