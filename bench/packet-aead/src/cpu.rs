//! Whether the processor has the instructions: a value that only exists where it does.

/// Proof that this processor has what the `target_feature` functions beside this file enable:
/// AVX-512 F, BW and VL, VAES, VPCLMULQDQ, AES-NI and PCLMULQDQ.
#[derive(Clone, Copy)]
pub(super) struct Cpu(());

impl Cpu {
    /// The standard library asks the processor once, and whether the kernel keeps the registers.
    pub(super) fn detect() -> Option<Self> {
        let has_all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("vaes")
            && is_x86_feature_detected!("vpclmulqdq")
            && is_x86_feature_detected!("aes")
            && is_x86_feature_detected!("pclmulqdq");
        has_all.then_some(Self(()))
    }
}
