//! The filter that selects calls in the kernel: those that may open a connection, send on one, or
//! end it. All other calls cost no more than without the filter.
//!
//! A filter sees only numbers, not what a descriptor refers to. `write`, `writev` and `close` are
//! selected because programs use them with sockets, so they cost more on files, too. Two rules keep
//! that rare: the standard streams are exempt, and so is a short `write`, which usually wakes a
//! thread through a pipe or an event counter. Receiving calls are not selected, because the kernel
//! reports arrivals.

use libc::sock_filter;

/// The shortest `write` that is reported, in bytes. No request is that short, nor any TLS record of
/// a handshake except ChangeCipherSpec.
const MIN_WRITE: u32 = 16;
const LAST_STANDARD_STREAM: u32 = 2;

/// Offsets in `seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;
const LOW_HALF: u32 = if cfg!(target_endian = "little") { 0 } else { 4 };

/// `include/uapi/linux/audit.h`.
#[cfg(target_arch = "x86_64")]
const OURS: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const OURS: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const OURS: u32 = 0xc000_00f3;
#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_arch = "riscv64"
)))]
const OURS: u32 = 0;

/// The calls that are noticed whatever their arguments.
const ALWAYS: [i64; 6] = [
    libc::SYS_connect,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_io_uring_setup,
    libc::SYS_exit_group,
];

/// The filter's program. A call through another system call table of the same processor (32-bit,
/// x32) passes.
pub(crate) fn program() -> Vec<sock_filter> {
    let mut code = vec![load(ARCHITECTURE), equal(OURS, 1, 0), allow(), load(NUMBER)];
    for number in ALWAYS {
        code.extend([equal(number as u32, 0, 1), notify()]);
    }
    // `writev` and `close` depend on the descriptor alone; `write` on its length as well.
    code.extend([
        equal(libc::SYS_writev as u32, 5, 0),
        equal(libc::SYS_close as u32, 4, 0),
        equal(libc::SYS_write as u32, 1, 0),
        allow(),
        load(ARGUMENTS + 2 * 8 + LOW_HALF),
        less(MIN_WRITE, 3, 0),
        load(ARGUMENTS + LOW_HALF),
        greater(LAST_STANDARD_STREAM, 0, 1),
        notify(),
        allow(),
    ]);
    code
}

fn load(offset: u32) -> sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

fn notify() -> sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_USER_NOTIF)
}

fn allow() -> sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW)
}

/// Jumps over `yes` or `no` instructions, depending on the comparison.
fn equal(value: u32, yes: u8, no: u8) -> sock_filter {
    jump(libc::BPF_JEQ, value, yes, no)
}

fn greater(value: u32, yes: u8, no: u8) -> sock_filter {
    jump(libc::BPF_JGT, value, yes, no)
}

fn less(value: u32, yes: u8, no: u8) -> sock_filter {
    jump(libc::BPF_JGE, value, no, yes)
}

fn jump(kind: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    let code = (libc::BPF_JMP | kind | libc::BPF_K) as u16;
    sock_filter { code, jt, jf, k }
}

fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The filter's decision on a call through our system call table.
    fn answer(number: i64, arguments: [u64; 6]) -> u32 {
        answer_for(OURS, number, arguments)
    }

    fn answer_for(architecture: u32, number: i64, arguments: [u64; 6]) -> u32 {
        let mut data = Vec::new();
        data.extend((number as i32).to_ne_bytes());
        data.extend(architecture.to_ne_bytes());
        data.extend([0; 8]);
        data.extend(arguments.iter().flat_map(|a| a.to_ne_bytes()));
        let (mut at, mut accumulator) = (0, 0);
        let code = program();
        loop {
            let step = code[at];
            at += 1;
            match u32::from(step.code) {
                c if c == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS => {
                    let word = data[step.k as usize..][..4].try_into().unwrap();
                    accumulator = u32::from_ne_bytes(word);
                }
                c if c == libc::BPF_RET | libc::BPF_K => return step.k,
                c => {
                    let holds = match c & 0xf0 {
                        libc::BPF_JEQ => accumulator == step.k,
                        libc::BPF_JGT => accumulator > step.k,
                        libc::BPF_JGE => accumulator >= step.k,
                        other => panic!("{other:#x}"),
                    };
                    at += usize::from(if holds { step.jt } else { step.jf });
                }
            }
        }
    }

    #[test]
    fn calls_that_may_send_are_noticed() {
        let noticed = [
            (libc::SYS_connect, [3, 0, 16, 0, 0, 0]),
            (libc::SYS_sendto, [0, 0, 1, 0, 0, 0]),
            (libc::SYS_sendmsg, [3, 0, 0, 0, 0, 0]),
            (libc::SYS_sendmmsg, [3, 0, 2, 0, 0, 0]),
            (libc::SYS_io_uring_setup, [8, 0, 0, 0, 0, 0]),
            (libc::SYS_write, [3, 0, 16, 0, 0, 0]),
            (libc::SYS_write, [900, 0, 1 << 20, 0, 0, 0]),
            (libc::SYS_writev, [3, 0, 1, 0, 0, 0]),
            (libc::SYS_close, [3, 0, 0, 0, 0, 0]),
            (libc::SYS_exit_group, [0; 6]),
        ];
        for (number, arguments) in noticed {
            let told = answer(number, arguments);
            assert_eq!(told, libc::SECCOMP_RET_USER_NOTIF, "{number} {arguments:?}");
        }
    }

    #[test]
    fn other_calls_pass() {
        let passing = [
            (libc::SYS_read, [3, 0, 4096, 0, 0, 0]),
            (libc::SYS_close, [2, 0, 0, 0, 0, 0]),
            (libc::SYS_recvmsg, [3, 0, 0, 0, 0, 0]),
            (libc::SYS_write, [1, 0, 4096, 0, 0, 0]),
            (libc::SYS_write, [2, 0, 4096, 0, 0, 0]),
            (libc::SYS_writev, [2, 0, 4096, 0, 0, 0]),
            // An event counter, and a pipe that wakes a thread.
            (libc::SYS_write, [7, 0, 8, 0, 0, 0]),
            (libc::SYS_write, [7, 0, 1, 0, 0, 0]),
        ];
        for (number, arguments) in passing {
            let told = answer(number, arguments);
            assert_eq!(told, libc::SECCOMP_RET_ALLOW, "{number} {arguments:?}");
        }
        let foreign = answer_for(OURS ^ 1, libc::SYS_connect, [3, 0, 16, 0, 0, 0]);
        assert_eq!(foreign, libc::SECCOMP_RET_ALLOW);
    }
}
