//! Published vectors: McGrew and Viega's test cases for 96-bit nonces, and Wycheproof's.

use super::{Key, cpu};

/// Key, nonce, additional data, plaintext, ciphertext, tag: of "The Galois/Counter Mode of
/// Operation (GCM)", appendix B; test cases 1 to 4 and 13 to 16.
const CASES: [[&str; 6]; 8] = [
    [
        ZERO_128,
        ZERO_NONCE,
        "",
        "",
        "",
        "58e2fccefa7e3061367f1d57a4e7455a",
    ],
    [
        ZERO_128,
        ZERO_NONCE,
        "",
        ZERO_128,
        "0388dace60b6a392f328c2b971b2fe78",
        "ab6e47d42cec13bdf53a67b21257bddf",
    ],
    [
        KEY_128,
        NONCE,
        "",
        PLAIN,
        SEALED_128,
        "4d5c2af327cd64a62cf35abd2ba6fab4",
    ],
    [
        KEY_128,
        NONCE,
        AAD,
        SHORT,
        SEALED_128,
        "5bc94fbc3221a5db94fae95ae7121a47",
    ],
    [
        ZERO_256,
        ZERO_NONCE,
        "",
        "",
        "",
        "530f8afbc74536b9a963b4f1c4cb738b",
    ],
    [
        ZERO_256,
        ZERO_NONCE,
        "",
        ZERO_128,
        "cea7403d4d606b6e074ec5d3baf39d18",
        "d0d1c8a799996bf0265b98b5d48ab919",
    ],
    [
        KEY_256,
        NONCE,
        "",
        PLAIN,
        SEALED_256,
        "b094dac5d93471bdec1a502270e3cc6c",
    ],
    [
        KEY_256,
        NONCE,
        AAD,
        SHORT,
        SEALED_256,
        "76fc6ece0f4e1768cddf8853bb2d551b",
    ],
];
const ZERO_128: &str = "00000000000000000000000000000000";
const ZERO_256: &str = "0000000000000000000000000000000000000000000000000000000000000000";
const ZERO_NONCE: &str = "000000000000000000000000";
const KEY_128: &str = "feffe9928665731c6d6a8f9467308308";
const KEY_256: &str = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308";
const NONCE: &str = "cafebabefacedbaddecaf888";
const AAD: &str = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
const PLAIN: &str = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
                     1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255";
const SHORT: &str = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
                     1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
/// Cut to the plaintext's length where that is short.
const SEALED_128: &str = "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e\
                          21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985";
const SEALED_256: &str = "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa\
                          8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad";

const WYCHEPROOF: &str = include_str!("wycheproof.txt");

#[test]
fn test_cases_of_the_specification() {
    let Some(cpu) = cpu() else { return };
    for (at, case) in CASES.iter().enumerate() {
        let [key, nonce, aad, plain, sealed, tag] = case.map(hex);
        let key = Key::new(cpu, &key, &nonce.try_into().unwrap());
        let mut data = plain.clone();
        assert_eq!(key.seal(0, &aad, &mut data), *tag, "case {at}");
        assert_eq!(data, sealed[..data.len()], "case {at}");
        let tag = tag.try_into().unwrap();
        assert!(key.open(0, &aad, &mut data, &tag), "case {at}");
        assert_eq!(data, plain, "case {at}");
    }
}

#[test]
fn wycheproof() {
    let Some(cpu) = cpu() else { return };
    let (mut valid, mut invalid) = (0, 0);
    let lines = WYCHEPROOF.lines().filter(|line| !line.starts_with('#'));
    for line in lines {
        let words: [&str; 8] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let [id, key, nonce, aad, plain, sealed, tag, verdict] = words;
        let [key, nonce, aad, plain, sealed, tag] = [key, nonce, aad, plain, sealed, tag].map(hex);
        let key = Key::new(cpu, &key, &nonce.try_into().unwrap());
        let tag: [u8; 16] = tag.try_into().unwrap();
        let mut data = sealed.clone();
        let is_opened = key.open(0, &aad, &mut data, &tag);
        assert_eq!(is_opened, verdict == "valid", "{id}");
        if is_opened {
            assert_eq!(data, plain, "{id}");
            assert_eq!(key.seal(0, &aad, &mut data), tag, "{id}");
            assert_eq!(data, sealed, "{id}");
            valid += 1;
        } else {
            invalid += 1;
        }
    }
    assert_eq!((valid, invalid), (79, 54));
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    let pairs = digits.chunks(2);
    pairs.map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}
