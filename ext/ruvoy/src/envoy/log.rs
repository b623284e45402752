//! Envoy's log, component `dynamic_modules`. Any thread.

use envoy_proxy_dynamic_modules_rust_sdk::{abi::envoy_dynamic_module_type_log_level as EnvoyLevel, envoy_log};

/// How serious a line is: Envoy's levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// For following single requests.
    Trace,
    /// For following the module.
    Debug,
    /// What operators want to know.
    Info,
    /// What they should look into.
    Warn,
    /// What failed.
    Error,
    /// What ends the process or the service.
    Critical,
}

impl Level {
    /// The level of Envoy's number, the most serious one for numbers beyond.
    pub fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Trace,
            1 => Self::Debug,
            2 => Self::Info,
            3 => Self::Warn,
            4 => Self::Error,
            _ => Self::Critical,
        }
    }
}

/// Writes `message`, which may have several lines.
pub fn write(level: Level, message: &str) {
    let level = match level {
        Level::Trace => EnvoyLevel::Trace,
        Level::Debug => EnvoyLevel::Debug,
        Level::Info => EnvoyLevel::Info,
        Level::Warn => EnvoyLevel::Warn,
        Level::Error => EnvoyLevel::Error,
        Level::Critical => EnvoyLevel::Critical,
    };
    envoy_log!(level, "ruvoy: {message}");
}
