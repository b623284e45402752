//! The bootstrap extension: at SIGTERM Envoy waits until the requests in flight have finished.
//!
//! All of it runs on the main thread. Without the extension Envoy ends them at once.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use envoy_proxy_dynamic_modules_rust_sdk::{
    BootstrapExtension, BootstrapExtensionConfig, CompletionCallback, EnvoyBootstrapExtension,
    EnvoyBootstrapExtensionConfig, EnvoyBootstrapExtensionTimer,
};

use crate::ruby;

/// The event that the last stream has ended.
const DRAINED: u64 = 1;

/// What a response that was handed to Envoy gets to reach the client's socket.
const FLUSH: Duration = Duration::from_millis(100);

/// Makes the extension's configuration; it has none of its own.
pub fn new_extension_config(
    envoy: &mut dyn EnvoyBootstrapExtensionConfig,
    _name: &str,
    _config: &[u8],
) -> Option<Box<dyn BootstrapExtensionConfig>> {
    envoy.signal_init_complete();
    let drain =
        Drain { timer: envoy.new_timer(), scheduler: Arc::from(envoy.new_scheduler()), waiting: Mutex::default() };
    Some(Box::new(Extension(Arc::new(drain))))
}

/// What Envoy's configuration object and its extension share.
#[derive(Clone)]
struct Extension(Arc<Drain>);

struct Drain {
    timer: Box<dyn EnvoyBootstrapExtensionTimer>,
    scheduler: Arc<dyn envoy_proxy_dynamic_modules_rust_sdk::EnvoyBootstrapExtensionConfigScheduler>,
    /// Envoy's exit, while it waits.
    waiting: Mutex<Option<CompletionCallback>>,
}

impl Drain {
    fn waiting(&self) -> MutexGuard<'_, Option<CompletionCallback>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BootstrapExtensionConfig for Extension {
    fn new_bootstrap_extension(&self, _envoy: &mut dyn EnvoyBootstrapExtension) -> Box<dyn BootstrapExtension> {
        Box::new(self.clone())
    }

    fn on_scheduled(&self, _envoy: &mut dyn EnvoyBootstrapExtensionConfig, event_id: u64) {
        if event_id == DRAINED {
            self.0.timer.enable(FLUSH);
        }
    }

    fn on_timer_fired(
        &self,
        _envoy: &mut dyn EnvoyBootstrapExtensionConfig,
        _timer: &dyn EnvoyBootstrapExtensionTimer,
    ) {
        if let Some(completion) = self.0.waiting().take() {
            completion.done();
        }
    }
}

impl BootstrapExtension for Extension {
    fn on_shutdown(&mut self, _envoy: &mut dyn EnvoyBootstrapExtension, completion: CompletionCallback) {
        let Some((exchange, timeout)) = ruby::vm::running() else { return completion.done() };
        *self.0.waiting() = Some(completion);
        self.0.timer.enable(timeout.max(FLUSH));
        let scheduler = Arc::clone(&self.0.scheduler);
        exchange.drain_then(Box::new(move || scheduler.commit(DRAINED)));
    }
}
