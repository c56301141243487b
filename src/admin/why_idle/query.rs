//! Why nothing is happening.

use super::findings::{findings, idle_reason};
use super::{IdleCode, WhyIdle};
use crate::admin::ControlError;
use crate::admin::status;
use crate::crawl::node::Node;

/// Why nothing is being fetched.
///
/// # Errors
/// Storage that does not answer.
pub fn why_idle(node: &Node) -> Result<WhyIdle, ControlError> {
    let status = status(node);
    let findings = findings(node, &status);
    let answer = idle_reason(node, &status, &findings);
    let idle = findings.first().is_none_or(|first| first.code != IdleCode::NotIdle);
    Ok(WhyIdle { idle, answer, findings })
}
