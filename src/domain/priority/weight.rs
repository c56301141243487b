//! A weight as users say it.

use serde::{Deserialize, Serialize};

/// By how much more important something is than others: 0.01 to 100, in hundredths. By default 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Weight(u16);

/// A number that is no weight.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0} is no weight; expected a number from 0.01 to 100")]
pub struct WeightError(f64);

const HUNDREDTHS: f64 = 100.0;
const MOST: u16 = 10_000;

impl Weight {
    /// The number.
    pub fn get(self) -> f64 {
        f64::from(self.0) / HUNDREDTHS
    }

    /// In hundredths, as it stands on disk.
    pub fn hundredths(self) -> u16 {
        self.0
    }

    /// The one that has so many hundredths, if there is one.
    pub fn from_hundredths(hundredths: u16) -> Option<Self> {
        (1..=MOST).contains(&hundredths).then_some(Self(hundredths))
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self(100)
    }
}

impl TryFrom<f64> for Weight {
    type Error = WeightError;

    fn try_from(number: f64) -> Result<Self, WeightError> {
        let hundredths = (number * HUNDREDTHS).round();
        if !(1.0..=f64::from(MOST)).contains(&hundredths) {
            return Err(WeightError(number));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within 1 and 10,000")]
        Ok(Self(hundredths as u16))
    }
}

impl From<Weight> for f64 {
    fn from(weight: Weight) -> Self {
        weight.get()
    }
}

impl std::str::FromStr for Weight {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number: f64 = text.parse().map_err(|_| format!("{text:?} is no number; expected one from 0.01 to 100"))?;
        Self::try_from(number).map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_is_a_number_from_a_hundredth_to_a_hundred() {
        for (text, hundredths) in [("0.01", 1), ("1", 100), ("2.5", 250), ("100", 10_000), ("0.333", 33)] {
            assert_eq!(text.parse::<Weight>().map(Weight::hundredths), Ok(hundredths), "{text}");
            assert_eq!(serde_json::from_str::<Weight>(text).unwrap().hundredths(), hundredths, "{text}");
        }
        for text in ["0", "0.004", "-1", "101", "NaN", "inf", "x", ""] {
            assert!(text.parse::<Weight>().unwrap_err().contains("0.01 to 100"), "{text}");
        }
        assert_eq!(Weight::default().get().to_bits(), 1.0_f64.to_bits());
        assert_eq!([0, 1, 10_000, 10_001].map(|n| Weight::from_hundredths(n).is_some()), [false, true, true, false]);
    }
}
