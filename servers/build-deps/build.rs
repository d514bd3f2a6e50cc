//! Nothing is built; cargo takes the features of build-dependencies only of a package that has a build script.

fn main() {}
