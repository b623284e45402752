//! Keeps Envoy's signal handlers: the VM installs its own when it starts, and they are put back.
//!
//! Two of the VM's stay. SIGVTALRM, which Envoy does not use, interrupts system calls of Ruby threads.
//! SIGSEGV is how the VM notices that a fiber's machine stack is used up, so faults on Ruby threads
//! go to the VM, which raises SystemStackError, and all others to Envoy as before.

use std::{
    ffi::{c_int, c_void},
    mem, ptr,
    sync::OnceLock,
};

use libc::{SA_ONSTACK, SA_SIGINFO, SIG_DFL, SIG_ERR, SIG_IGN, SIGSEGV, SIGVTALRM, sigaction, siginfo_t};

const HIGHEST: c_int = 31;

/// The signal handlers of a moment.
pub struct Signals(Vec<(c_int, sigaction)>);

/// Who gets a SIGSEGV.
struct Chain {
    envoy: sigaction,
    ruby: sigaction,
}

static CHAIN: OnceLock<Chain> = OnceLock::new();

impl Signals {
    /// Reads the handlers that are in force.
    pub fn save() -> Self {
        let others = (1..=HIGHEST).filter(|&signal| signal != SIGVTALRM);
        Self(others.filter_map(|signal| current(signal).map(|action| (signal, action))).collect())
    }

    /// Puts the handlers back, with SIGSEGV shared between the VM and Envoy.
    pub fn restore(&self) {
        for (signal, action) in &self.0 {
            if *signal == SIGSEGV && share(action) {
                continue;
            }
            // SAFETY: `action` was read from the system by `current`.
            unsafe { libc::sigaction(*signal, action, ptr::null_mut()) };
        }
    }
}

fn current(signal: c_int) -> Option<sigaction> {
    // SAFETY: an all-zero sigaction is a valid one to be written over, and a NULL new action only reads.
    unsafe {
        let mut action: sigaction = mem::zeroed();
        (libc::sigaction(signal, ptr::null(), &mut action) == 0).then_some(action)
    }
}

/// Installs the handler that tells Ruby's faults from Envoy's; false if the VM has no handler.
fn share(envoy: &sigaction) -> bool {
    let Some(ruby) = current(SIGSEGV) else { return false };
    if CHAIN.get().is_none() {
        if !is_function(&ruby) || ruby.sa_flags & SA_SIGINFO == 0 {
            return false;
        }
        let _ = CHAIN.set(Chain { envoy: *envoy, ruby });
    }
    let mut shared = ruby;
    shared.sa_sigaction = on_segv as *const () as usize;
    shared.sa_flags |= SA_SIGINFO | SA_ONSTACK;
    // SAFETY: `on_segv` has the type that SA_SIGINFO asks for and is async-signal-safe: it reads
    // thread-local storage and calls handlers that were installed as such.
    unsafe { libc::sigaction(SIGSEGV, &shared, ptr::null_mut()) == 0 }
}

fn is_function(action: &sigaction) -> bool {
    ![SIG_DFL, SIG_IGN, SIG_ERR].contains(&action.sa_sigaction)
}

extern "C" fn on_segv(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let Some(chain) = CHAIN.get() else { return };
    // SAFETY: only compares a thread-local pointer with NULL.
    let is_ruby = unsafe { rb_sys::ruby_native_thread_p() } != 0;
    let action = if is_ruby { &chain.ruby } else { &chain.envoy };
    if is_function(action) {
        if action.sa_flags & SA_SIGINFO != 0 {
            // SAFETY: the system held this function pointer as a handler with SA_SIGINFO.
            let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                unsafe { mem::transmute(action.sa_sigaction) };
            handler(signal, info, context);
        } else {
            // SAFETY: the system held this function pointer as a handler without SA_SIGINFO.
            let handler: extern "C" fn(c_int) = unsafe { mem::transmute(action.sa_sigaction) };
            handler(signal);
        }
    } else {
        // SAFETY: the action was read from the system. The fault happens again under the default action.
        unsafe { libc::sigaction(signal, action, ptr::null_mut()) };
    }
}
