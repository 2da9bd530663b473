//! What checks examine: the files of a machine or an image and, for a machine, its kernel.

use std::path::Path;
use std::str::FromStr;

use crate::error::DoctorError;
use crate::probes::Probes;
use crate::root::{Root, RootReadError};

/// The subject of an examination.
#[derive(Debug)]
pub(crate) struct ExaminedSystem {
    pub(crate) root: Root,
    /// `None` for an image, which will use the kernel of the host that runs it.
    pub(crate) probes: Option<Probes>,
}

impl ExaminedSystem {
    /// The running machine.
    pub(crate) fn machine() -> Result<Self, DoctorError> {
        Ok(Self {
            root: Root::open(Path::new("/"))?,
            probes: Some(Probes::ask()),
        })
    }

    /// An unpacked image.
    pub(crate) fn image(directory: &Path) -> Result<Self, DoctorError> {
        Ok(Self {
            root: Root::open(directory)?,
            probes: None,
        })
    }

    /// The value of a kernel setting, by its `sysctl` name.
    pub(crate) fn setting(&self, name: &str) -> Result<String, RootReadError> {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        Ok(self.root.read_text(&path)?.trim().to_owned())
    }

    /// A kernel setting with a single number.
    pub(crate) fn number<T: FromStr>(&self, name: &str) -> Result<T, RootReadError> {
        let text = self.setting(name)?;
        text.parse().map_err(|_| RootReadError::Absurd)
    }

    /// A kernel setting with exactly `N` numbers.
    pub(crate) fn numbers<const N: usize>(&self, name: &str) -> Result<[u64; N], RootReadError> {
        let text = self.setting(name)?;
        let numbers: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
        let numbers = numbers.map_err(|_| RootReadError::Absurd)?;
        numbers.try_into().map_err(|_| RootReadError::Absurd)
    }
}

#[cfg(test)]
pub(crate) mod fake {
    //! A tree in a temporary directory that stands for a machine or an image.

    use std::fs;

    use super::ExaminedSystem;
    use crate::check::Check;
    use crate::probes::Probes;

    /// A scene and the temporary directory that holds it.
    pub(crate) struct Fake {
        directory: tempfile::TempDir,
        pub(crate) scene: ExaminedSystem,
    }

    /// A machine with these files, whose kernel grants everything.
    pub(crate) fn machine(files: &[(&str, &str)]) -> Fake {
        let mut fake = image(files);
        fake.scene.probes = Some(Probes::granting());
        fake
    }

    /// An image with these files.
    pub(crate) fn image(files: &[(&str, &str)]) -> Fake {
        let directory = tempfile::tempdir().unwrap();
        let scene = ExaminedSystem::image(directory.path()).unwrap();
        let fake = Fake { directory, scene };
        for (path, content) in files {
            fake.write(path, content.as_bytes());
        }
        fake
    }

    impl Fake {
        /// Adds a file; a name with dots and no slash is a kernel setting.
        pub(crate) fn write(&self, path: &str, content: &[u8]) {
            let path = if path.contains('/') {
                path.trim_start_matches('/').to_owned()
            } else {
                format!("proc/sys/{}", path.replace('.', "/"))
            };
            let path = self.directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }

        /// The real path of a file in this system.
        pub(crate) fn path(&self, path: &str) -> std::path::PathBuf {
            self.directory.path().join(path)
        }

        /// The result of one check.
        pub(crate) fn check(&self, check: impl Fn(&ExaminedSystem) -> Check) -> Check {
            check(&self.scene)
        }
    }
}
