//! What a server's build command asks of cargo.

/// A call of `cargo build` or `cargo rustc`, as far as it decides the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct BuildCommand {
    /// The package, the last one that is named; the manifest's own where left out.
    pub package: Option<String>,
    /// The manifest; that of the repository's root where left out.
    pub manifest: Option<String>,
    /// Whether the program is an example.
    pub is_example: bool,
    /// Features, without the default one.
    pub features: Vec<String>,
    /// Whether the default features are off.
    pub no_default_features: bool,
    /// Whether all features are on.
    pub all_features: bool,
    /// The profile.
    pub profile: String,
    /// What is left: the program's name, a target, flags for the compiler.
    pub rest: Vec<String>,
}

/// Options whose value decides nothing of the program.
const WITHOUT_EFFECT: [&str; 5] = ["--target-dir", "--jobs", "-j", "--color", "--message-format"];

/// Flags that decide nothing of the program.
const FLAGS_WITHOUT_EFFECT: [&str; 7] =
    ["--locked", "--offline", "--frozen", "--quiet", "-q", "--verbose", "-v"];

impl BuildCommand {
    /// Reads a command; `None` where it is not cargo that builds.
    pub fn read(command: &[String]) -> Option<Self> {
        let [cargo, verb, args @ ..] = command else { return None };
        if let [.., program, dashes, folder] = args
            && [verb, program, dashes] == ["run", "patched-build", "--"]
        {
            // The crates that it patches are made from the patches in that folder.
            let manifest = Some(format!("{folder}/Cargo.toml"));
            return Some(Self { manifest, profile: "release".to_owned(), ..Self::default() });
        }
        if cargo != "cargo" || !["build", "b", "rustc"].contains(&verb.as_str()) {
            return None;
        }
        let mut read = Self { profile: "dev".to_owned(), ..Self::default() };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let (name, stated) = match arg.split_once('=').filter(|_| arg.starts_with("--")) {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (arg.as_str(), None),
            };
            let mut value = || stated.clone().or_else(|| args.next().cloned()).unwrap_or_default();
            match name {
                "--package" | "-p" => read.package = Some(value()),
                "--manifest-path" => read.manifest = Some(value()),
                "--features" | "-F" => {
                    let features = value();
                    read.features.extend(
                        features.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned),
                    );
                }
                "--example" => {
                    read.is_example = true;
                    read.rest.push(format!("--example={}", value()));
                }
                "--no-default-features" => read.no_default_features = true,
                "--all-features" => read.all_features = true,
                "--release" | "-r" => read.profile = "release".to_owned(),
                "--profile" => read.profile = value(),
                name if WITHOUT_EFFECT.contains(&name) => drop(value()),
                name if FLAGS_WITHOUT_EFFECT.contains(&name) => {}
                "--" => {
                    read.rest.push(arg.clone());
                    read.rest.extend(args.by_ref().cloned());
                }
                _ => read.rest.push(arg.clone()),
            }
        }
        read.features.sort();
        Some(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(command: &str) -> Option<BuildCommand> {
        BuildCommand::read(&command.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn what_decides_the_program_is_read() {
        let plain = read("cargo build --release --package server-a").unwrap();
        assert_eq!((plain.package.as_deref(), plain.profile.as_str()), (Some("server-a"), "release"));
        assert_eq!(read("cargo build --target-dir target/x -p server-a -r --locked"), Some(plain.clone()));
        assert_eq!(read("cargo build -r --package build-deps --package server-a"), Some(plain));
        assert_eq!(read("cargo build --package=server-a").unwrap().profile, "dev");
        let other = read("cargo rustc --release --package server-a --features b,a -- -C link-arg=x").unwrap();
        assert_eq!(other.features, ["a", "b"]);
        assert_eq!(other.rest, ["--", "-C", "link-arg=x"]);
        assert!(read("cargo build --package a --example b").unwrap().is_example);
        assert_eq!(read("go build ./server"), None);
        assert_eq!(BuildCommand::read(&[]), None);
    }
}
