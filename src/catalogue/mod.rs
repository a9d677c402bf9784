//! Which driver calls which counter what: data, with one matcher.
//!
//! A set of names is resolved once into a [`Plan`]; reads then copy by position and compare no strings.
//! There is no code per driver here: a driver is a block of rows in a table, and an operator can add one
//! with a file of the same form. This room refuses fuzzy matching: a name matches whole or not at all.
