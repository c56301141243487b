//! A store that speaks S3 as a place for copies. Credentials come from the `AWS_` variables and are never logged.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path as FilePath;
use std::time::Duration;

use futures_util::TryStreamExt;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientOptions, Error, ObjectMeta, ObjectStore, ObjectStoreExt, PutPayload, RetryConfig,
};
use sha2::{Digest, Sha256};
use tokio::runtime::Runtime;

use super::place::{Each, Place};
use super::{CheckpointError, Result, files};

/// Bytes sent or fetched at a time; each has the time-out for itself.
const PART: u64 = 8 << 20;
/// Most parts of an upload (a rule of S3's).
const PARTS: u64 = 10_000;
/// Longest wait for one answer.
const TIMEOUT: Duration = Duration::from_secs(60);
/// A request is tried so often again, and so long at most.
const RETRY: RetryConfig = RetryConfig {
    backoff: BackoffConfig {
        init_backoff: Duration::from_millis(200),
        max_backoff: Duration::from_secs(10),
        base: 2.0,
    },
    max_retries: 6,
    retry_timeout: Duration::from_secs(120),
};

/// A bucket and what its keys begin with.
pub(super) struct S3Place {
    store: AmazonS3,
    runtime: Runtime,
    bucket: String,
    prefix: String,
}

impl S3Place {
    /// Speaks to nobody yet.
    pub fn open(bucket: &str, prefix: &str, endpoint: Option<&str>) -> Result<Self> {
        let url = format!("s3://{bucket}/{prefix}");
        // A provider set before is as good; it is ring too, the only one that is built in.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let endpoint = endpoint.map(str::to_owned).or_else(environment_endpoint);
        let options = ClientOptions::new()
            .with_timeout(TIMEOUT)
            .with_connect_timeout(Duration::from_secs(10))
            .with_allow_http(endpoint.as_deref().is_some_and(|e| e.starts_with("http://")));
        let mut builder = AmazonS3Builder::from_env().with_client_options(options).with_retry(RETRY);
        builder = builder.with_bucket_name(bucket);
        if let Some(endpoint) = &endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        let store = builder.build().map_err(|e| failed("opening", url.clone(), &e))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| failed("opening", url, &e))?;
        Ok(Self { store, runtime, bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }

    fn path(&self, key: &str) -> Path {
        Path::from_iter(self.prefix.split('/').chain(key.split('/')).filter(|part| !part.is_empty()))
    }

    async fn put_parts(
        &self,
        path: &Path,
        from: &mut impl Read,
        bytes: u64,
    ) -> std::result::Result<(), Box<dyn std::error::Error>> {
        let part = PART.max(bytes.div_ceil(PARTS - 1));
        if bytes <= part {
            self.store.put(path, read_part(from, bytes)?.into()).await?;
            return Ok(());
        }
        let mut upload = self.store.put_multipart(path).await?;
        let sent = async {
            let mut left = bytes;
            while left > 0 {
                let piece = read_part(from, left.min(part))?;
                left -= piece.len() as u64;
                upload.put_part(PutPayload::from(piece)).await?;
            }
            upload.complete().await?;
            Ok::<_, Box<dyn std::error::Error>>(())
        };
        let sent = sent.await;
        if sent.is_err() {
            let _ = upload.abort().await; // parts that stay are the bucket's rules' matter
        }
        sent
    }
}

/// Exactly so many bytes; a file that has become shorter is an error.
fn read_part(from: &mut impl Read, bytes: u64) -> io::Result<Vec<u8>> {
    let mut piece = Vec::new();
    from.take(bytes).read_to_end(&mut piece)?;
    if piece.len() as u64 == bytes { Ok(piece) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// A reader that digests what passes.
struct Digesting<R>(R, Sha256);

impl<R: Read> Read for Digesting<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read(into)?;
        self.1.update(into.get(..n).unwrap_or_default());
        Ok(n)
    }
}

impl Place for S3Place {
    fn put(&self, key: &str, from: &FilePath, most: u64) -> Result<(u64, String)> {
        let file = File::open(from).map_err(CheckpointError::io("open", from))?;
        let len = file.metadata().map_err(CheckpointError::io("read the length of", from))?.len();
        let bytes = len.min(most);
        let mut reader = Digesting(file, Sha256::new());
        let sent = self.runtime.block_on(self.put_parts(&self.path(key), &mut reader, bytes));
        sent.map_err(|e| failed("writing", self.url(key), &*e))?;
        Ok((bytes, files::hex(&reader.1.finalize())))
    }

    fn get(&self, key: &str, each: Each<'_>) -> Result<Option<(u64, String)>> {
        let path = self.path(key);
        let wrong = |e: &(dyn std::error::Error + 'static)| failed("reading", self.url(key), e);
        let size = match self.runtime.block_on(self.store.head(&path)) {
            Ok(found) => found.size,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(e) => return Err(wrong(&e)),
        };
        let (mut sha, mut at) = (Sha256::new(), 0);
        while at < size {
            let range = at..size.min(at + PART);
            let piece = self.runtime.block_on(self.store.get_range(&path, range.clone())).map_err(|e| wrong(&e))?;
            if piece.len() as u64 != range.end - range.start {
                return Err(wrong(&io::Error::from(io::ErrorKind::UnexpectedEof)));
            }
            sha.update(&piece);
            each(&piece).map_err(|e| wrong(&e))?;
            at = range.end;
        }
        Ok(Some((size, files::hex(&sha.finalize()))))
    }

    fn list(&self, folder: &str) -> Result<HashMap<String, u64>> {
        let below = self.path(folder);
        let listed = self.runtime.block_on(self.store.list(Some(&below)).try_collect::<Vec<_>>());
        let listed = listed.map_err(|e| failed("listing", self.url(folder), &e))?;
        let named = |found: ObjectMeta| Some((format!("{folder}/{}", found.location.filename()?), found.size));
        Ok(listed.into_iter().filter_map(named).collect())
    }

    fn remove(&self, key: &str) -> Result<()> {
        match self.runtime.block_on(self.store.delete(&self.path(key))) {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(e) => Err(failed("removing", self.url(key), &e)),
        }
    }

    fn url(&self, key: &str) -> String {
        format!("s3://{}/{}", self.bucket, self.path(key))
    }
}

fn environment_endpoint() -> Option<String> {
    let set = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
    set("AWS_ENDPOINT_URL_S3").or_else(|| set("AWS_ENDPOINT_URL")).or_else(|| set("AWS_ENDPOINT"))
}

/// The error with its causes, which say most.
fn failed(doing: &'static str, url: String, error: &(dyn std::error::Error + 'static)) -> CheckpointError {
    let mut problem = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !problem.contains(&text) {
            problem.push_str(&format!(": {text}"));
        }
        cause = inner.source();
    }
    CheckpointError::Place { doing, url, problem }
}
