//! The one VM of the process: its boot, what state it is in, and its end.
//!
//! Envoy's main thread asks for it and waits; the owner thread is made here and runs the VM.

use std::{
    path::{Path, PathBuf},
    sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use magnus::{Error, RArray, RModule, Ruby, Value, prelude::*};

use super::native;
use crate::{
    config::Config,
    envoy::{local_reply, log},
    exchange::{Arc, Exchange, Owner},
    ffi,
    wakeup::{EventFd, SharedEventFd},
};

/// The owner thread's stack: what a Ruby program's main thread has by default.
const STACK_BYTES: usize = 8 << 20;

/// How long answers may travel after the reactor died, before the process ends.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What a process whose reactor died exits with: `EX_SOFTWARE` of sysexits.h.
const DIED_STATUS: i32 = 70;

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Booting,
    Serving,
    /// The boot failed, for this reason, and the VM is about to end.
    Failed(String),
    /// The VM has ended, or never started, for this reason.
    Ended(String),
}

/// The VM as other threads see it.
struct Vm {
    rackup: PathBuf,
    exchange: Arc<Exchange>,
    shutdown_timeout: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

static VM: LazyLock<Mutex<Option<&'static Vm>>> = LazyLock::new(Mutex::default);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the VM is told by environment variables where the operator says nothing.
const VARIABLES: [(&str, &str); 3] = [
    // A fiber that has ended keeps its stack: giving each back to the system, the default, interrupts
    // every other core of the process.
    ("RUBY_SHARED_FIBER_POOL_FREE_STACKS", "0"),
    // So many bytes of garbage strings start a collection. The default grows to 32 MiB, and a stream
    // of body chunks then keeps several times that resident.
    ("RUBY_GC_MALLOC_LIMIT", "12582912"),
    ("RUBY_GC_MALLOC_LIMIT_MAX", "12582912"),
];

/// Main thread, when the module is loaded: what must be so before the VM starts.
pub fn prepare_process() {
    for (name, value) in VARIABLES {
        if std::env::var_os(name).is_none() {
            ffi::environment::set(name, value);
        }
    }
}

/// Main thread: starts the VM with the configuration's rackup, or finds the one that serves it, and
/// waits until the application is loaded.
///
/// # Errors
///
/// Why the configuration must be refused; for a rackup that fails, Ruby's error with its backtrace.
pub fn boot(config: &Config) -> Result<Arc<Exchange>, String> {
    let vm = {
        let mut current = lock(&VM);
        match *current {
            Some(vm) => vm,
            None => *current.insert(Vm::start(config)?),
        }
    };
    if vm.rackup != config.rackup {
        return Err(format!(
            "this process serves the rackup {}; it cannot serve {} too. Start a second Envoy for it",
            vm.rackup.display(),
            config.rackup.display()
        ));
    }
    vm.wait_until_served(config.boot_timeout)
}

/// The exchange of the VM, if one was started, and how long its requests may take to finish.
pub fn running() -> Option<(Arc<Exchange>, Duration)> {
    lock(&VM).map(|vm| (Arc::clone(&vm.exchange), vm.shutdown_timeout))
}

impl Vm {
    fn start(config: &Config) -> Result<&'static Self, String> {
        if !config.rackup.is_file() {
            return Err(format!("the rackup {} does not exist", config.rackup.display()));
        }
        let wakeup = EventFd::new().map_err(|error| format!("no eventfd: {error}"))?;
        let vm: &'static Self = Box::leak(Box::new(Self {
            rackup: config.rackup.clone(),
            exchange: Exchange::new(Box::new(SharedEventFd(Arc::clone(&wakeup)))),
            shutdown_timeout: config.shutdown_timeout,
            state: Mutex::new(State::Booting),
            changed: Condvar::new(),
        }));
        let buffer_bytes = config.limits.buffer_bytes;
        let owner = thread::Builder::new().name("ruvoy owner".to_owned()).stack_size(STACK_BYTES);
        owner.spawn(move || vm.own(wakeup, buffer_bytes)).map_err(|error| format!("no owner thread: {error}"))?;
        ffi::exit::at_exit(end);
        Ok(vm)
    }

    fn wait_until_served(&self, timeout: Duration) -> Result<Arc<Exchange>, String> {
        let state = lock(&self.state);
        let (state, _) = self
            .changed
            .wait_timeout_while(state, timeout, |state| *state == State::Booting)
            .unwrap_or_else(PoisonError::into_inner);
        match &*state {
            State::Serving => Ok(Arc::clone(&self.exchange)),
            State::Failed(why) | State::Ended(why) => Err(why.clone()),
            State::Booting => Err(format!(
                "the rackup {} took longer to load than limits.boot_timeout_ms ({} ms) allows",
                self.rackup.display(),
                timeout.as_millis()
            )),
        }
    }

    fn change(&self, state: State) {
        *lock(&self.state) = state;
        self.changed.notify_all();
    }

    /// Owner thread: its whole life.
    fn own(&self, wakeup: Arc<EventFd>, buffer_bytes: usize) {
        let started = ffi::vm::run_once(|ruby| self.serve(ruby, wakeup, buffer_bytes));
        let why = match (started, &*lock(&self.state)) {
            (Err(error), _) => error.to_string(),
            (Ok(()), State::Failed(why)) => why.clone(),
            (Ok(()), _) => "the Ruby VM has ended".to_owned(),
        };
        self.change(State::Ended(why));
    }

    fn serve(&self, ruby: &Ruby, wakeup: Arc<EventFd>, buffer_bytes: usize) {
        let owner = Owner::new(Arc::clone(&self.exchange));
        let server = load_library(ruby)
            .and_then(|()| native::define(ruby, owner, wakeup, buffer_bytes))
            .and_then(|native| boot_server(ruby, native, &self.rackup));
        let server = match server {
            Ok(server) => server,
            Err(error) => {
                let why = format!("the rackup {} failed to load: {}", self.rackup.display(), describe(&error));
                return self.change(State::Failed(why));
            }
        };
        self.change(State::Serving);
        let ended: Result<Value, Error> = server.funcall("run", ());
        let stopping = self.exchange.is_stopping();
        let (head, body) = local_reply::GONE.response();
        native::abandon(&head, &body);
        match ended {
            Ok(_) if stopping => {}
            Ok(_) => die("it returned without having been asked to"),
            Err(error) => die(&describe(&error)),
        }
    }
}

/// The reactor is dead and its requests are answered: the process must not look alive.
fn die(cause: &str) {
    log::write(log::Level::Critical, &format!("the reactor died and the process ends: {cause}"));
    thread::sleep(LAST_WORDS);
    ffi::exit::exit_now(DIED_STATUS);
}

/// At the process's exit: lets the VM end before destructors run, and skips them if it cannot.
fn end(status: i32) {
    let Some(vm) = *lock(&VM) else { return };
    vm.exchange.stop();
    let deadline = Instant::now() + vm.shutdown_timeout;
    let mut state = lock(&vm.state);
    while matches!(*state, State::Serving | State::Failed(_)) && Instant::now() < deadline {
        let left = deadline.saturating_duration_since(Instant::now());
        state = vm.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    if !matches!(*state, State::Ended(_)) {
        ffi::exit::exit_now(status);
    }
}

/// Makes lib/ruvoy loadable, from where this module lies, and loads it.
fn load_library(ruby: &Ruby) -> Result<(), Error> {
    ruby.script("ruvoy");
    let module = ffi::location::module();
    let mut above = module.iter().flat_map(|path| path.ancestors());
    if let Some(lib) = above.find(|directory| directory.join("ruvoy.rb").is_file()) {
        let load_path: RArray = ruby.eval("$LOAD_PATH")?;
        let lib = lib.to_string_lossy();
        if !load_path.includes(ruby.str_new(&lib)) {
            load_path.push(ruby.str_new(&lib))?;
        }
    }
    ruby.require("ruvoy").map(|_| ())
}

fn boot_server(ruby: &Ruby, native: RModule, rackup: &Path) -> Result<Value, Error> {
    ruby.require("ruvoy/server")?;
    let server: Value = ruby.eval("Ruvoy::Server")?;
    server.funcall("boot", (native, ruby.str_new(&rackup.to_string_lossy())))
}

/// Class, message, backtrace and causes of an error.
fn describe(error: &Error) -> String {
    let message = error.value().and_then(|exception| {
        let options = Ruby::get().ok()?.eval("{highlight: false, order: :top}").ok()?;
        let options: magnus::RHash = options;
        exception.funcall::<_, _, String>("full_message", (magnus::KwArgs(options),)).ok()
    });
    message.unwrap_or_else(|| error.to_string())
}
