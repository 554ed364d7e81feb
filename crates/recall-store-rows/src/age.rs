//! Ages that count the time a machine was suspended.

use std::time::Duration;

/// A point on a clock that only runs forward and does not stop while the machine sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Duration);

impl Moment {
    /// This moment.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn now() -> Self {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
        let nanos = u32::try_from(now.tv_nsec).unwrap_or_default();
        Self(Duration::new(seconds, nanos))
    }

    /// Where no such clock is at hand, the time of day serves: it may jump, but it counts sleep.
    #[cfg(not(target_os = "linux"))]
    #[must_use]
    pub fn now() -> Self {
        let now = jiff::Timestamp::now().as_duration();
        Self(now.unsigned_abs())
    }

    /// The time since; none if the clock went back.
    #[must_use]
    pub fn age(self) -> Duration {
        Self::now().0.saturating_sub(self.0)
    }
}
