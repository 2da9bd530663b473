//! Makes the whole process root of a separate user namespace, so that its threads can enter paths.

use crate::error::PathError;
use crate::identity::CallerIdentity;
use crate::syscall::namespace;

/// Makes this process root of a separate user namespace, unless it is privileged already. Its
/// files, its network and its user as seen from outside stay the same.
///
/// Must be called before the first thread starts, hence at the beginning of `main`. A test binary
/// has threads before any test runs; use [`sandbox_before_main!`](crate::sandbox_before_main)
/// there.
pub fn enter_sandbox() -> Result<(), PathError> {
    if namespace::is_privileged() {
        return Ok(());
    }
    match CallerIdentity::of_caller()
        .enter_user_namespace()
        .map_err(PathError::from)
    {
        // unshare(2): EINVAL means that the caller has threads, or that the kernel has no user
        // namespaces.
        Err(PathError::Refused { source, .. })
            if source.raw_os_error() == Some(libc::EINVAL) && has_threads() =>
        {
            Err(PathError::ManyThreads(source))
        }
        other => other,
    }
}

fn has_threads() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() > 1)
}

/// Calls [`enter_sandbox`] before `main`, for test binaries, whose `main` comes from libtest. Use
/// it once, at the top level:
///
/// ```
/// roundtrip_path::sandbox_before_main!();
/// # fn main() {}
/// ```
/// If the system refuses, nothing happens yet; building or entering a path will report it.
#[macro_export]
macro_rules! sandbox_before_main {
    () => {
        #[used]
        #[allow(unsafe_code)]
        // SAFETY: the C runtime calls each function in this section once, on the only thread,
        // before `main`; this one never unwinds, and uses nothing that Rust sets up in `main`.
        #[unsafe(link_section = ".init_array")]
        static ENTER_SANDBOX: extern "C" fn() = {
            extern "C" fn enter() {
                drop($crate::enter_sandbox());
            }
            enter
        };
    };
}
