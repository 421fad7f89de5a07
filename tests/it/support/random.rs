//! Random numbers.

/// Those of a seed, by SplitMix64.
pub struct Random(pub u64);

impl Random {
    /// Numbers that differ from run to run.
    pub fn new() -> Self {
        Self(uuid::Uuid::new_v4().as_u64_pair().0)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}
