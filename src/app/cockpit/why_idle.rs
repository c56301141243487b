//! Why nothing is happening.

use super::Cockpit;
use crate::admin::ControlError;
use crate::admin::why_idle::{Idle, IdleCode, WhyIdle};
use crate::app::{idle, status};

impl Idle for Cockpit {
    fn why_idle(&self) -> Result<WhyIdle, ControlError> {
        let status = status(&self.node);
        let findings = idle::findings(&self.node, &status);
        let answer = idle::idle_reason(&self.node, &status, &findings);
        let idle = findings.first().is_none_or(|first| first.code != IdleCode::NotIdle);
        Ok(WhyIdle { idle, answer, findings })
    }
}
