//! The bootstrap extension: what concerns the server as a whole. All of it runs on the main thread.
//!
//! At SIGTERM it lets the requests in flight finish, which Envoy alone would end at once. And it keeps
//! the gauges that no request changes.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use envoy_proxy_dynamic_modules_rust_sdk::{
    BootstrapExtension, BootstrapExtensionConfig, CompletionCallback, EnvoyBootstrapExtension,
    EnvoyBootstrapExtensionConfig, EnvoyBootstrapExtensionConfigScheduler, EnvoyBootstrapExtensionTimer, EnvoyGaugeId,
};

use super::log;
use crate::ruby;

/// The event that the last stream has ended.
const DRAINED: u64 = 1;

/// What a response that was handed to Envoy gets to reach the client's socket.
const FLUSH: Duration = Duration::from_millis(100);

/// How often the gauges are set.
const SAMPLE: Duration = Duration::from_secs(1);

/// Makes the extension's configuration; it has none of its own.
pub fn new_extension_config(
    envoy: &mut dyn EnvoyBootstrapExtensionConfig,
    _name: &str,
    _config: &[u8],
) -> Option<Box<dyn BootstrapExtensionConfig>> {
    let gauges = match (envoy.define_gauge("reactor_idle_ms"), envoy.define_gauge("resident_bytes")) {
        (Ok(reactor_idle_ms), Ok(resident_bytes)) => Gauges { reactor_idle_ms, resident_bytes },
        (idle, resident) => {
            log::write(log::Level::Error, &format!("statistics cannot be defined: {idle:?}, {resident:?}"));
            return None;
        }
    };
    let server = Server {
        sampler: envoy.new_timer(),
        exit: envoy.new_timer(),
        scheduler: Arc::from(envoy.new_scheduler()),
        gauges,
        exiting: Mutex::default(),
    };
    server.sampler.enable(SAMPLE);
    envoy.signal_init_complete();
    Some(Box::new(Extension(Arc::new(server))))
}

/// What Envoy's configuration object and its extension share.
#[derive(Clone)]
struct Extension(Arc<Server>);

struct Server {
    sampler: Box<dyn EnvoyBootstrapExtensionTimer>,
    /// Fires when Envoy may exit.
    exit: Box<dyn EnvoyBootstrapExtensionTimer>,
    scheduler: Arc<dyn EnvoyBootstrapExtensionConfigScheduler>,
    gauges: Gauges,
    /// Envoy's exit, while it waits.
    exiting: Mutex<Option<CompletionCallback>>,
}

struct Gauges {
    /// For how long the owner thread has had nothing to do.
    reactor_idle_ms: EnvoyGaugeId,
    /// The process's resident memory.
    resident_bytes: EnvoyGaugeId,
}

impl Gauges {
    fn sample(&self, envoy: &dyn EnvoyBootstrapExtensionConfig) {
        let idle_ms = ruby::vm::running().map_or(0, |(exchange, _)| exchange.idle_ms());
        // The identifiers are the extension's own, so that recording cannot fail.
        let _ = envoy.set_gauge(self.reactor_idle_ms, idle_ms);
        let _ = envoy.set_gauge(self.resident_bytes, resident_bytes().unwrap_or(0));
    }
}

/// The second field of `/proc/self/statm` counts pages.
fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

impl Server {
    fn exiting(&self) -> std::sync::MutexGuard<'_, Option<CompletionCallback>> {
        self.exiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BootstrapExtensionConfig for Extension {
    fn new_bootstrap_extension(&self, _envoy: &mut dyn EnvoyBootstrapExtension) -> Box<dyn BootstrapExtension> {
        Box::new(self.clone())
    }

    fn on_scheduled(&self, _envoy: &mut dyn EnvoyBootstrapExtensionConfig, event_id: u64) {
        if event_id == DRAINED {
            self.0.exit.enable(FLUSH);
        }
    }

    fn on_timer_fired(&self, envoy: &mut dyn EnvoyBootstrapExtensionConfig, timer: &dyn EnvoyBootstrapExtensionTimer) {
        if timer.id() == self.0.sampler.id() {
            self.0.gauges.sample(envoy);
            self.0.sampler.enable(SAMPLE);
        } else if let Some(completion) = self.0.exiting().take() {
            completion.done();
        }
    }
}

impl BootstrapExtension for Extension {
    fn on_shutdown(&mut self, _envoy: &mut dyn EnvoyBootstrapExtension, completion: CompletionCallback) {
        self.0.sampler.disable();
        let Some((exchange, timeout)) = ruby::vm::running() else { return completion.done() };
        *self.0.exiting() = Some(completion);
        self.0.exit.enable(timeout.max(FLUSH));
        let scheduler = Arc::clone(&self.0.scheduler);
        exchange.drain_then(Box::new(move || scheduler.commit(DRAINED)));
    }
}
