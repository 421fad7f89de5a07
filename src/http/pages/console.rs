//! The console: the files of `console/`, unchanged, in the binary. Everyone may load them, as they contain no stored
//! data: the console gets data through the API, with the credential of the person who uses it.

use std::sync::LazyLock;

use axum::http::{HeaderName, StatusCode, header};
use sha2::{Digest as _, Sha256};

use crate::http::call::Call;
use crate::http::describe::{Access, Header, Operation, Serving};
use crate::http::reply::{Answer, Code, Problem};

/// Scripts, styles and connections only from this server, and no text that becomes HTML (Trusted Types).
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

struct File {
    name: &'static str,
    content: &'static [u8],
    /// Quoted.
    tag: String,
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/console/", $name)).as_slice())),*]
    };
}

/// All files of the folder.
const CONTENTS: &[(&str, &[u8])] = files![
    "access.js",
    "api.js",
    "app.css",
    "app.js",
    "apps.js",
    "compare.js",
    "around.js",
    "csv.js",
    "dom.js",
    "edit.js",
    "erasures.js",
    "event.js",
    "feed.js",
    "files.js",
    "find.js",
    "frameworks.js",
    "history.js",
    "icon.svg",
    "index.html",
    "json.js",
    "jsonview.js",
    "keyboard.js",
    "keys.js",
    "main.js",
    "paged.js",
    "palette.js",
    "past.js",
    "recent.js",
    "request.js",
    "router.js",
    "schedule.js",
    "scopestate.js",
    "search.js",
    "server.js",
    "session.js",
    "sessions.js",
    "shared.js",
    "signin.js",
    "slider.js",
    "sse.js",
    "states.js",
    "takeback.js",
    "timeline.js",
    "times.js",
    "turns.js",
    "user.js",
];

static FILES: LazyLock<Vec<File>> = LazyLock::new(|| {
    let file = |(name, content): &(&'static str, &'static [u8])| {
        let tag = format!("\"{}\"", hex::encode(&Sha256::digest(content)[..16]));
        File { name, content, tag }
    };
    CONTENTS.iter().map(file).collect()
});

/// Makes the browser load all modules at once instead of following one import after the other. The style comes first,
/// because nothing is painted without it.
static PRELOAD: LazyLock<String> = LazyLock::new(|| {
    let modules = CONTENTS.iter().map(|(name, _)| name).filter(|name| name.ends_with(".js"));
    modules
        .fold("<app.css>; rel=preload; as=style".to_owned(), |all, name| format!("{all}, <{name}>; rel=modulepreload"))
});

fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

pub const FILE: Operation = Operation::of("console", Access::Open)
    .serving(Serving { page: true, strict_query: false, ..Serving::PROCESS })
    .headers(&[Header::IfNoneMatch]);

/// A file that the page loads. Other sites may not link to it.
pub const PART: Operation = Operation { serving: Serving { page: false, ..FILE.serving }, ..FILE };

pub const ENTRANCE: Operation = Operation { id: "consoleEntrance", headers: &[], ..FILE };

pub async fn entrance(_: Call) -> Result<Answer, Problem> {
    Ok(Answer::new(StatusCode::PERMANENT_REDIRECT).header(header::LOCATION, "console/"))
}

/// # Errors
/// There is no such file.
pub async fn file(call: Call) -> Result<Answer, Problem> {
    let name = call.file().unwrap_or("index.html");
    let Some(file) = FILES.iter().find(|file| file.name == name) else {
        return Err(Problem::new(Code::NotFound, "the console has no such file"));
    };
    if call.headers.has_current(&file.tag)? {
        return Ok(Answer::not_modified(&file.tag));
    }
    let mut answer = Answer::ok().tag(&file.tag).header(header::CONTENT_TYPE, media_type(file.name));
    if file.name == "index.html" {
        answer = answer.header(header::LINK, PRELOAD.as_str());
    }
    Ok(HEADERS.into_iter().fold(answer, |answer, (name, value)| answer.header(name, value)).body(file.content))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Bytes of all files together, which are indented by tabs for it.
    const BUDGET: usize = 210 << 10;

    #[test]
    fn the_files_are_those_of_the_folder() {
        let folder = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/console")).unwrap();
        let mut there: Vec<String> = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        there.sort_unstable();
        let mut listed: Vec<&str> = CONTENTS.iter().map(|(name, _)| *name).collect();
        listed.sort_unstable();
        assert_eq!(there, listed);
        let size: usize = CONTENTS.iter().map(|(_, content)| content.len()).sum();
        assert!(size <= BUDGET, "{size} bytes");
    }

    /// The policy would block these anyway, but the files must not contain them either.
    #[test]
    fn nothing_is_loaded_from_elsewhere_or_made_of_text() {
        for (name, content) in CONTENTS {
            let text = str::from_utf8(content).unwrap();
            for word in [
                "https:",
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "eval(",
                "new Function",
                "style=",
                "onclick=",
            ] {
                assert!(!text.contains(word), "{name}: {word}");
            }
            assert!(!text.replace("http://www.w3.org/2000/svg", "").contains("http:"), "{name}");
        }
    }
}
