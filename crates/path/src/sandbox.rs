//! A whole process in a user namespace of its own, where it is root: then its threads may enter paths.

use crate::error::Error;
use crate::identity::Identity;
use crate::syscall::namespace;

/// Makes this process root of a user namespace of its own, unless it is privileged already. Its files, its user
/// outside and its network stay what they were.
///
/// Must come before the first thread, hence first thing in `main`. A test binary has threads before any test runs;
/// [`sandbox_before_main!`](crate::sandbox_before_main) is for it.
pub fn enter_sandbox() -> Result<(), Error> {
    if namespace::is_privileged() {
        return Ok(());
    }
    match Identity::of_caller()
        .enter_user_namespace()
        .map_err(Error::from)
    {
        // unshare(2): EINVAL is for a caller with threads, and for a kernel without user namespaces.
        Err(Error::Refused { source, .. })
            if source.raw_os_error() == Some(libc::EINVAL) && has_threads() =>
        {
            Err(Error::ManyThreads(source))
        }
        other => other,
    }
}

fn has_threads() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() > 1)
}

/// Calls [`enter_sandbox`] before `main`, for test binaries, whose `main` is libtest's. Once, at the top level:
///
/// ```
/// roundtrip_path::sandbox_before_main!();
/// # fn main() {}
/// ```
/// Where it is refused nothing happens yet; building a path or entering it will say why.
#[macro_export]
macro_rules! sandbox_before_main {
    () => {
        #[used]
        #[allow(unsafe_code)]
        // SAFETY: the C runtime calls each function in this section once, on the only thread, before `main`; this one
        // unwinds never, and uses nothing that Rust sets up in `main`.
        #[unsafe(link_section = ".init_array")]
        static ENTER_SANDBOX: extern "C" fn() = {
            extern "C" fn enter() {
                drop($crate::enter_sandbox());
            }
            enter
        };
    };
}
