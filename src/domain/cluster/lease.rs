//! The lease by which a member works: until when it may send requests, and when another may take its place.
