//! File systems of a test's own, and files that fill them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::run;

/// A file system of its own; unmounted when dropped, which must be after the daemon on it.
pub struct Mount(pub PathBuf);

impl Mount {
    /// `None` where nothing may be mounted.
    pub fn tmpfs(at: PathBuf, size: &str) -> Option<Self> {
        fs::create_dir_all(&at).unwrap();
        let options = format!("size={size}");
        run("mount", &["-t", "tmpfs", "-o", &options, "tmpfs", at.to_str().unwrap()]).then_some(Self(at))
    }

    /// An ext4 in the file `image`, which is made when it is missing.
    pub fn ext4(at: PathBuf, image: &Path) -> Option<Self> {
        fs::create_dir_all(&at).unwrap();
        let (image_text, at_text) = (image.to_str().unwrap(), at.to_str().unwrap());
        if !image.exists() {
            fs::File::create(image).unwrap().set_len(96 << 20).unwrap();
            if !run("mkfs.ext4", &["-q", image_text]) {
                return None;
            }
        }
        run("mount", &["-o", "loop", image_text, at_text]).then_some(Self(at))
    }

    pub fn remount(&self, option: &str) -> bool {
        run("mount", &["-o", &format!("remount,{option}"), self.0.to_str().unwrap()])
    }

    pub fn free(&self) -> u64 {
        lycosa::base::disk::probe::room(&self.0).unwrap().free
    }

    /// A file that leaves `left` bytes free.
    pub fn fill(&self, left: u64) -> Ballast {
        let path = self.0.join("ballast");
        let mut file = fs::File::create(&path).unwrap();
        let piece = [0; 64 << 10];
        while self.free() > left {
            let n = (self.free() - left).min(piece.len() as u64) as usize;
            if file.write_all(&piece[..n]).is_err() {
                break;
            }
        }
        Ballast(path)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        run("umount", &["-l", self.0.to_str().unwrap()]);
    }
}

pub struct Ballast(PathBuf);

impl Ballast {
    pub fn take_away(self) {
        fs::remove_file(self.0).unwrap();
    }
}
