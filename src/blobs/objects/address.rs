use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use url::Url;

/// Where a store of objects is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// `file:///DIR`
    Folder(PathBuf),
    /// `s3://BUCKET/PREFIX`, `gs://…`, `az://…`
    Bucket(Url),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORMS: &str =
            "must be `database`, file:///DIR, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX";
        let mut url = Url::parse(text).map_err(|_| FORMS)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not have credentials: they are read from the environment".to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("must not have a query or a fragment".to_owned());
        }
        match url.scheme() {
            "file" => match url.to_file_path() {
                Ok(path) if path.parent().is_some() && text.starts_with("file:///") => Ok(Self::Folder(path)),
                _ => Err("must name a folder by its absolute path: file:///DIR".to_owned()),
            },
            "s3" | "gs" | "az" if url.host_str().is_some_and(|bucket| !bucket.is_empty()) => {
                let path = url.path().trim_end_matches('/').to_owned();
                url.set_path(&path);
                Ok(Self::Bucket(url))
            }
            "s3" | "gs" | "az" => Err("must name a bucket: s3://BUCKET/PREFIX".to_owned()),
            _ => Err(FORMS.to_owned()),
        }
    }
}

/// The same of all ways to write an address: by it the database knows the store.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => match Url::from_file_path(path) {
                Ok(url) => f.write_str(url.as_str().trim_end_matches('/')),
                Err(()) => Err(fmt::Error),
            },
            Self::Bucket(url) => f.write_str(url.as_str().trim_end_matches('/')),
        }
    }
}
