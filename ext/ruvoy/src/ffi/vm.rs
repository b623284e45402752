//! Starts CRuby on the calling thread, which becomes the owner thread, and ends it.

use std::{
    ffi::{CString, c_char, c_int},
    fmt, ptr,
    sync::atomic::{AtomicBool, Ordering},
};

use magnus::Ruby;

use super::signals::Signals;

/// What the VM gets as its command line: UTF-8 as the external encoding, and an empty script.
/// `RUBYOPT` is read by the VM itself, so Bundler's set-up and `-W` flags work as they do elsewhere.
const ARGUMENTS: [&str; 4] = ["ruvoy", "-EUTF-8", "-e", ""];

/// Why the VM did not start.
#[derive(Debug, PartialEq, Eq)]
pub enum StartError {
    /// It was started before: CRuby cannot be started twice in a process.
    Twice,
    /// Its start failed with this status, most likely in a library that `RUBYOPT` names; Ruby has
    /// said why on standard error.
    Failed(i32),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Twice => write!(f, "the Ruby VM was started before, and cannot be started again in one process"),
            Self::Failed(status) => write!(
                f,
                "the Ruby VM did not start (status {status}); Ruby said why on standard error. \
                 Check the bundle and RUBYOPT"
            ),
        }
    }
}

static STARTED: AtomicBool = AtomicBool::new(false);

/// Starts the VM on this thread, calls `main` and ends the VM, which runs the `at_exit` blocks.
/// Envoy's signal handlers are as before while `main` runs.
///
/// # Errors
///
/// [`StartError`], and `main` was not called.
pub fn run_once(main: impl FnOnce(&Ruby)) -> Result<(), StartError> {
    if STARTED.swap(true, Ordering::AcqRel) {
        return Err(StartError::Twice);
    }
    let signals = Signals::save();
    let mut stack_start: rb_sys::VALUE = 0;
    // SAFETY: this frame is below every frame that calls Ruby, and the VM was not started before.
    let setup = unsafe {
        rb_sys::ruby_init_stack(ptr::from_mut(&mut stack_start).cast());
        rb_sys::ruby_setup()
    };
    if setup != 0 {
        signals.restore();
        return Err(StartError::Failed(setup));
    }
    // SAFETY: the VM is set up and this thread holds its lock.
    let started = unsafe { load() };
    signals.restore();
    if started.is_ok() {
        // SAFETY: the VM runs and this thread, its main thread, holds the lock.
        main(&unsafe { Ruby::get_unchecked() });
    }
    // SAFETY: this is the VM's main thread. Values are neither Send nor 'static outside of what the
    // VM itself keeps, so that `main` cannot have left any to be used afterwards.
    unsafe { rb_sys::ruby_cleanup(0) };
    signals.restore();
    started
}

/// Reads the options and runs the empty script, which loads RubyGems and what `RUBYOPT` asks for.
///
/// # Safety
///
/// The VM is set up and this thread holds its lock.
unsafe fn load() -> Result<(), StartError> {
    let mut arguments = ARGUMENTS.map(|argument| CString::new(argument).unwrap_or_default().into_raw()).to_vec();
    arguments.push(ptr::null_mut());
    // Ruby keeps the pointers for `$0` and the process title, so they live as long as the process.
    let arguments: &'static mut [*mut c_char] = arguments.leak();
    let count = ARGUMENTS.len() as c_int;
    let mut status = 0;
    // SAFETY: `arguments` holds `count` C strings and a NULL; `ruby_options` catches what the
    // libraries of RUBYOPT raise, and its node goes to the functions that it is made for.
    unsafe {
        let node = rb_sys::ruby_options(count, arguments.as_mut_ptr());
        if rb_sys::ruby_executable_node(node, &mut status) == 0 {
            return Err(StartError::Failed(status));
        }
        match rb_sys::ruby_exec_node(node) {
            0 => Ok(()),
            status => Err(StartError::Failed(status)),
        }
    }
}
