//! scope.
