//! The filter configuration: bytes from Envoy become a [`Config`], or a message that names the key at fault.

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Map, Value};

use crate::exchange::{Limits, Origin, Upstream};

/// A validated filter configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The rackup, as an absolute path.
    pub rackup: PathBuf,
    /// The bounds that the exchange keeps.
    pub limits: Limits,
    /// A slower boot is refused.
    pub boot_timeout: Duration,
    /// How long requests in flight may finish at exit.
    pub shutdown_timeout: Duration,
    /// What `env["ruvoy.context"]` is to hold; none: it does not exist.
    pub context: Option<Context>,
    /// The upstream calls that are allowed; none: `env["ruvoy.upstream"]` does not exist.
    pub upstream: Option<Upstream>,
}

/// The `context` part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Metadata namespaces that are copied.
    pub metadata_namespaces: Vec<String>,
}

/// Why a configuration is refused: the key's path and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "filter_config: {}", self.0)
    }
}

impl std::error::Error for ConfigError {}

/// One setting that is a whole number.
struct Number {
    key: &'static str,
    default: u64,
    min: u64,
    max: u64,
    /// The environment variable that counts where the configuration is silent.
    variable: Option<&'static str>,
}

const HOUR_MS: u64 = 3_600_000;
const TIB: u64 = 1 << 40;

const REQUESTS: Number =
    Number { key: "requests", default: 1024, min: 1, max: 1_000_000, variable: Some("RUVOY_MAX_INFLIGHT_REQUESTS") };
const REQUEST_BODY_BYTES: Number = bytes("request_body_bytes", 0, 0);
const BUFFER_BYTES: Number = bytes("buffer_bytes", 1 << 20, 4096);
const TOTAL_BUFFER_BYTES: Number = bytes("total_buffer_bytes", 256 << 20, 4096);
const BOOT_TIMEOUT_MS: Number =
    Number { key: "boot_timeout_ms", default: 60_000, min: 1, max: 24 * HOUR_MS, variable: None };
const SHUTDOWN_TIMEOUT_MS: Number = Number {
    key: "shutdown_timeout_ms",
    default: 10_000,
    min: 0,
    max: 24 * HOUR_MS,
    variable: Some("RUVOY_SHUTDOWN_TIMEOUT_MS"),
};
const TIMEOUT_MS: Number = Number { key: "timeout_ms", default: 15_000, min: 1, max: 24 * HOUR_MS, variable: None };
const MAX_RESPONSE_BYTES: Number = bytes("max_response_bytes", 1 << 20, 1);
const STREAM_BUFFER_BYTES: Number = bytes("stream_buffer_bytes", 1 << 20, 4096);

const fn bytes(key: &'static str, default: u64, min: u64) -> Number {
    Number { key, default, min, max: TIB, variable: None }
}

impl Config {
    /// Reads `bytes`: the rackup's path, or a JSON object. `variable` looks up an environment variable.
    ///
    /// # Errors
    ///
    /// A message with the path of the key at fault.
    pub fn parse(bytes: &[u8], variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let text = std::str::from_utf8(bytes).map_err(|_| error("must be UTF-8: a path or a JSON object"))?.trim();
        if text.is_empty() {
            return Err(error("rackup is missing: give its path, or a JSON object with the key rackup"));
        }
        let root = if text.starts_with('{') {
            match serde_json::from_str(text) {
                Ok(Value::Object(map)) => map,
                Ok(_) => return Err(error("must be the rackup's path or a JSON object")),
                Err(problem) => return Err(error(&format!("is not valid JSON: {problem}"))),
            }
        } else {
            Map::from_iter([("rackup".to_owned(), Value::from(text))])
        };
        Section { path: "", map: &root, variable }.config()
    }
}

fn error(message: &str) -> ConfigError {
    ConfigError(message.to_owned())
}

/// A JSON object of the configuration, with the path that leads to it.
struct Section<'a> {
    path: &'a str,
    map: &'a Map<String, Value>,
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Section<'_> {
    fn config(&self) -> Result<Config, ConfigError> {
        self.known(&["rackup", "limits", "context", "upstream"])?;
        let rackup =
            self.string("rackup")?.ok_or_else(|| self.error("rackup", "is missing: give the rackup's path"))?;
        let empty = Map::new();
        let (limits, boot_timeout, shutdown_timeout) = match self.section("limits")? {
            Some(section) => section.limits()?,
            None => Section { path: "limits", map: &empty, variable: self.variable }.limits()?,
        };
        Ok(Config {
            rackup: absolute(&rackup),
            limits,
            boot_timeout,
            shutdown_timeout,
            context: self.section("context")?.map(|section| section.context()).transpose()?,
            upstream: self.section("upstream")?.map(|section| section.upstream()).transpose()?,
        })
    }

    fn limits(&self) -> Result<(Limits, Duration, Duration), ConfigError> {
        self.known(&[
            REQUESTS.key,
            REQUEST_BODY_BYTES.key,
            BUFFER_BYTES.key,
            TOTAL_BUFFER_BYTES.key,
            BOOT_TIMEOUT_MS.key,
            SHUTDOWN_TIMEOUT_MS.key,
        ])?;
        let body_bytes = self.map.contains_key(REQUEST_BODY_BYTES.key).then(|| self.number(&REQUEST_BODY_BYTES));
        let limits = Limits {
            requests: self.size(&REQUESTS)?,
            request_body_bytes: body_bytes.transpose()?,
            buffer_bytes: self.size(&BUFFER_BYTES)?,
            total_buffer_bytes: self.size(&TOTAL_BUFFER_BYTES)?,
        };
        if limits.total_buffer_bytes < limits.buffer_bytes {
            return Err(self.error(TOTAL_BUFFER_BYTES.key, "must not be less than limits.buffer_bytes"));
        }
        Ok((limits, self.duration(&BOOT_TIMEOUT_MS)?, self.duration(&SHUTDOWN_TIMEOUT_MS)?))
    }

    fn context(&self) -> Result<Context, ConfigError> {
        self.known(&["metadata_namespaces"])?;
        Ok(Context { metadata_namespaces: self.strings("metadata_namespaces")?.unwrap_or_default() })
    }

    fn upstream(&self) -> Result<Upstream, ConfigError> {
        self.known(&["clusters", "origins", TIMEOUT_MS.key, MAX_RESPONSE_BYTES.key, STREAM_BUFFER_BYTES.key])?;
        let clusters = self.strings("clusters")?.filter(|names| !names.is_empty());
        let clusters =
            clusters.ok_or_else(|| self.error("clusters", "is missing: list the clusters that may be called"))?;
        Ok(Upstream {
            origins: self.origins("origins", &clusters)?,
            clusters,
            timeout: self.duration(&TIMEOUT_MS)?,
            max_response_bytes: self.size(&MAX_RESPONSE_BYTES)?,
            stream_buffer_bytes: self.size(&STREAM_BUFFER_BYTES)?,
        })
    }

    fn known(&self, keys: &[&str]) -> Result<(), ConfigError> {
        match self.map.keys().find(|key| !keys.contains(&key.as_str())) {
            Some(key) => Err(self.error(key, &format!("is not a known key: there are {}", keys.join(", ")))),
            None => Ok(()),
        }
    }

    fn section(&self, key: &'static str) -> Result<Option<Section<'_>>, ConfigError> {
        match self.map.get(key) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(Section { path: key, map, variable: self.variable })),
            Some(other) => Err(self.mistyped(key, "an object", other)),
        }
    }

    fn string(&self, key: &str) -> Result<Option<String>, ConfigError> {
        match self.map.get(key) {
            None => Ok(None),
            Some(Value::String(value)) if value.is_empty() => Err(self.error(key, "must not be empty")),
            Some(Value::String(value)) => Ok(Some(value.clone())),
            Some(other) => Err(self.mistyped(key, "a string", other)),
        }
    }

    fn strings(&self, key: &str) -> Result<Option<Vec<String>>, ConfigError> {
        let Some(value) = self.map.get(key) else { return Ok(None) };
        let Value::Array(items) = value else { return Err(self.mistyped(key, "an array of strings", value)) };
        let strings = items.iter().enumerate().map(|(index, item)| match item {
            Value::String(text) if !text.is_empty() => Ok(text.clone()),
            other => Err(self.mistyped(&format!("{key}[{index}]"), "a string that is not empty", other)),
        });
        strings.collect::<Result<_, _>>().map(Some)
    }

    /// The origins of clusters, by name.
    fn origins(&self, key: &'static str, clusters: &[String]) -> Result<HashMap<String, Origin>, ConfigError> {
        let Some(section) = self.section(key)? else { return Ok(HashMap::new()) };
        let path = self.name(key);
        let section = Section { path: &path, ..section };
        let pairs = section.map.keys().map(|cluster| {
            if !clusters.contains(cluster) {
                return Err(section.error(cluster, "is not among upstream.clusters"));
            }
            let text = section.string(cluster)?.unwrap_or_default();
            let origin = Origin::parse(&text);
            let origin = origin
                .ok_or_else(|| section.error(cluster, "must be like https://name.test or http://name.test:81"))?;
            Ok((cluster.clone(), origin))
        });
        pairs.collect()
    }

    fn number(&self, number: &Number) -> Result<u64, ConfigError> {
        let (name, value) = match (self.map.get(number.key), number.variable) {
            (Some(Value::Number(value)), _) => (self.name(number.key), value.as_u64()),
            (Some(other), _) => return Err(self.mistyped(number.key, "a whole number", other)),
            (None, Some(variable)) => match (self.variable)(variable) {
                Some(text) => (variable.to_owned(), text.trim().parse().ok()),
                None => return Ok(number.default),
            },
            (None, None) => return Ok(number.default),
        };
        value
            .filter(|value| (number.min..=number.max).contains(value))
            .ok_or_else(|| ConfigError(format!("{name} must be a whole number from {} to {}", number.min, number.max)))
    }

    fn size(&self, number: &Number) -> Result<usize, ConfigError> {
        usize::try_from(self.number(number)?).map_err(|_| self.error(number.key, "is too large for this machine"))
    }

    fn duration(&self, number: &Number) -> Result<Duration, ConfigError> {
        self.number(number).map(Duration::from_millis)
    }

    fn mistyped(&self, key: &str, expected: &str, found: &Value) -> ConfigError {
        self.error(key, &format!("must be {expected}, not {found}"))
    }

    fn error(&self, key: &str, message: &str) -> ConfigError {
        ConfigError(format!("{} {message}", self.name(key)))
    }

    fn name(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

fn absolute(path: &str) -> PathBuf {
    std::path::absolute(Path::new(path)).unwrap_or_else(|_| PathBuf::from(path))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text.as_bytes(), &|_| None).map_err(|error| error.to_string())
    }

    fn message(text: &str) -> String {
        parse(text).expect_err("a refusal")
    }

    #[test]
    fn a_path_alone_gets_the_defaults() {
        let config = parse("/srv/app/config.ru\n").expect("valid");
        assert_eq!(config.rackup, Path::new("/srv/app/config.ru"));
        assert_eq!(config.limits.requests, 1024);
        assert_eq!(config.limits.request_body_bytes, None);
        assert_eq!(config.limits.buffer_bytes, 1_048_576);
        assert_eq!(config.limits.total_buffer_bytes, 268_435_456);
        assert_eq!(config.boot_timeout, Duration::from_secs(60));
        assert_eq!(config.shutdown_timeout, Duration::from_secs(10));
        assert_eq!((config.context, config.upstream), (None, None));
    }

    #[test]
    fn every_key_is_read() {
        let config = parse(
            r#"{"rackup": "/a.ru",
                "limits": {"requests": 2, "request_body_bytes": 0, "buffer_bytes": 4096, "total_buffer_bytes": 8192,
                           "boot_timeout_ms": 5, "shutdown_timeout_ms": 0},
                "context": {"metadata_namespaces": ["a", "b"]},
                "upstream": {"clusters": ["c"], "origins": {"c": "https://c.test:81"}, "timeout_ms": 7, "max_response_bytes": 8, "stream_buffer_bytes": 5000}}"#,
        )
        .expect("valid");
        let limits = Limits { requests: 2, request_body_bytes: Some(0), buffer_bytes: 4096, total_buffer_bytes: 8192 };
        assert_eq!(config.limits, limits);
        assert_eq!(config.boot_timeout, Duration::from_millis(5));
        assert_eq!(config.shutdown_timeout, Duration::ZERO);
        assert_eq!(config.context, Some(Context { metadata_namespaces: vec!["a".into(), "b".into()] }));
        let upstream = config.upstream.expect("given");
        assert_eq!(upstream.clusters, ["c"]);
        let origin = Origin { scheme: "https".to_owned(), host: "c.test:81".to_owned() };
        assert_eq!(upstream.origins, HashMap::from([("c".to_owned(), origin)]));
        assert_eq!(upstream.timeout, Duration::from_millis(7));
        assert_eq!((upstream.max_response_bytes, upstream.stream_buffer_bytes), (8, 5000));
        assert_eq!(parse(r#"{"rackup": "/a.ru", "context": {}}"#).expect("valid").context, Some(Context::default()));
    }

    #[test]
    fn a_relative_rackup_is_of_the_current_directory() {
        let here = std::env::current_dir().expect("a current directory");
        assert_eq!(parse("app.ru").expect("valid").rackup, here.join("app.ru"));
    }

    #[test]
    fn refusals_name_the_key() {
        for (text, expected) in [
            ("", "rackup is missing"),
            ("{}", "rackup is missing"),
            (r#"{"rackup": 5}"#, "rackup must be a string, not 5"),
            (r#"{"rackup": ""}"#, "rackup must not be empty"),
            (r#"{"rackup": "a", "#, "is not valid JSON"),
            (r#"{"rackup": "a", "x": 1}"#, "x is not a known key"),
            (r#"{"rackup": "a", "limits": []}"#, "limits must be an object, not []"),
            (r#"{"rackup": "a", "limits": {"reqests": 1}}"#, "limits.reqests is not a known key"),
            (r#"{"rackup": "a", "limits": {"requests": 0}}"#, "limits.requests must be a whole number from 1"),
            (r#"{"rackup": "a", "limits": {"requests": 1.5}}"#, "limits.requests must be a whole number from 1"),
            (r#"{"rackup": "a", "limits": {"requests": "9"}}"#, "limits.requests must be a whole number, not \"9\""),
            (r#"{"rackup": "a", "limits": {"request_body_bytes": -1}}"#, "limits.request_body_bytes must be"),
            (r#"{"rackup": "a", "limits": {"buffer_bytes": 1}}"#, "limits.buffer_bytes must be"),
            (
                r#"{"rackup": "a", "limits": {"total_buffer_bytes": 4096}}"#,
                "limits.total_buffer_bytes must not be less",
            ),
            (
                r#"{"rackup": "a", "context": {"metadata_namespaces": "x"}}"#,
                "context.metadata_namespaces must be an array",
            ),
            (r#"{"rackup": "a", "context": {"metadata_namespaces": [1]}}"#, "context.metadata_namespaces[0] must be"),
            (r#"{"rackup": "a", "upstream": {}}"#, "upstream.clusters is missing"),
            (r#"{"rackup": "a", "upstream": {"clusters": []}}"#, "upstream.clusters is missing"),
            (
                r#"{"rackup": "a", "upstream": {"clusters": ["a"], "origins": {"b": "http://b"}}}"#,
                "upstream.origins.b is not",
            ),
            (
                r#"{"rackup": "a", "upstream": {"clusters": ["a"], "origins": {"a": "a.test"}}}"#,
                "upstream.origins.a must be",
            ),
            (r#"{"rackup": "a", "upstream": {"clusters": ["a"], "origins": {"a": 1}}}"#, "upstream.origins.a must be"),
            (r#"{"rackup": "a", "upstream": {"clusters": ["c"], "timeout_ms": 0}}"#, "upstream.timeout_ms must be"),
        ] {
            let message = message(text);
            assert!(message.contains(expected), "{text}: {message}");
            assert!(message.starts_with("filter_config: "), "{message}");
        }
        assert!(Config::parse(b"\xff", &|_| None).is_err());
    }

    #[test]
    fn variables_count_where_the_configuration_is_silent() {
        let variable = |name: &str| match name {
            "RUVOY_MAX_INFLIGHT_REQUESTS" => Some("7".to_owned()),
            "RUVOY_SHUTDOWN_TIMEOUT_MS" => Some("8".to_owned()),
            _ => None,
        };
        let config = Config::parse(b"a.ru", &variable).expect("valid");
        assert_eq!(config.limits.requests, 7);
        assert_eq!(config.shutdown_timeout, Duration::from_millis(8));
        let config = Config::parse(br#"{"rackup": "a", "limits": {"requests": 9}}"#, &variable).expect("valid");
        assert_eq!(config.limits.requests, 9);
        let refusal = Config::parse(b"a.ru", &|_| Some("many".to_owned())).expect_err("a refusal").to_string();
        assert!(refusal.contains("RUVOY_MAX_INFLIGHT_REQUESTS must be a whole number"), "{refusal}");
    }
}
