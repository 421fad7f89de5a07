//! What a program may be built without: the features of Cargo.toml.

/// The features that this program is built without, in words for `--help`; `None` if it has all.
pub fn missing() -> Option<String> {
    let all = [
        ("`buckets` (s3://, gs:// and az:// in --artifact-store)", cfg!(feature = "buckets")),
        ("`jwt` (--jwt-*)", cfg!(feature = "jwt")),
        ("`traces` (--otlp-endpoint, --trace-names)", cfg!(feature = "traces")),
    ];
    let missing: Vec<&str> = all.into_iter().filter(|(_, is_there)| !is_there).map(|(name, _)| name).collect();
    (!missing.is_empty()).then(|| format!("Built without {}: these settings are refused.", missing.join(", ")))
}

/// Why a setting cannot be used.
pub fn lacks(setting: &str, feature: &str) -> String {
    format!(
        "{setting} needs the feature `{feature}`, without which this program is built: `cargo build --release --features {feature}`"
    )
}
