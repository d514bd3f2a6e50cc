//! One file a verb. Each gives `true` where all is well, `false` where it found something that is not.

pub mod bombard;
pub mod calibrate;
pub mod check;
pub mod doctor;
pub mod report;
pub mod run;
pub mod serve;
pub mod splice;
pub mod tools;
