//! Revisions as entity tags, and the preconditions that clients build from them (RFC 9110, 13.1).

use std::fmt;

use super::scope::Scope;

/// The timeline of the database: PostgreSQL's, or 0 where the database has none. It grows whenever acknowledged commits may have
/// been lost: by a failover to a standby that lags, or a restore to an earlier moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timeline(pub u32);

impl Timeline {
    /// The mark of an incarnation of a session on this timeline. It differs on another timeline, where the same revisions may
    /// have other content.
    pub fn mark(self, incarnation: i64) -> i64 {
        // Incarnations are random in all bits.
        incarnation ^ i64::from(self.0)
    }
}

/// Identifies one moment of one session: `"R.U.A.I"`, where I is its [mark](Timeline::mark).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// Revisions of the session, of its user's state and of its app's state.
    pub revision: i64,
    pub user: i64,
    pub app: i64,
    /// Random for each creation, so that a session created anew never matches an old tag.
    pub incarnation: i64,
    pub timeline: Timeline,
    /// Counts changes of metadata. Shown (after a `-`) so that a cached answer with old metadata is not taken for current;
    /// [`IfMatch`] ignores it, as the merged state has not changed.
    pub metadata: i64,
}

impl Tag {
    /// Of a session that is made by the request that asks, as far as a precondition can know it.
    pub fn of_new(incarnation: i64) -> Self {
        Self { revision: 0, user: 0, app: 0, incarnation, timeline: Timeline(0), metadata: 0 }
    }

    /// `R.U.A.I`: the moment of the merged state, without the metadata.
    pub fn moment(&self) -> String {
        format!("{}.{}.{}.{:x}", self.revision, self.user, self.app, self.mark())
    }

    /// The revision of one scope.
    pub fn of(&self, scope: Scope) -> i64 {
        match scope {
            Scope::Session => self.revision,
            Scope::User => self.user,
            Scope::App => self.app,
        }
    }

    pub fn set(&mut self, scope: Scope, revision: i64) {
        *match scope {
            Scope::Session => &mut self.revision,
            Scope::User => &mut self.user,
            Scope::App => &mut self.app,
        } = revision;
    }

    /// The [mark](Timeline::mark) of its incarnation.
    pub fn mark(&self) -> i64 {
        self.timeline.mark(self.incarnation)
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}.{}.{}.{:x}", self.revision, self.user, self.app, self.mark())?;
        if self.metadata > 0 {
            write!(f, "-{}", self.metadata)?;
        }
        f.write_str("\"")
    }
}

/// One member of an [`IfMatch`].
#[derive(Debug, Clone, PartialEq, Eq)]
enum Want {
    /// `*`: any.
    Any,
    /// `"R"`: this revision of the addressed session or scope.
    Revision(i64),
    /// `"R.U.A.I"`: the merged state has not changed.
    Whole { revision: i64, user: i64, app: i64, mark: i64 },
    /// A foreign tag, or a weak tag of a revision alone.
    Never,
}

/// A precondition on the entity tag: a list of tags, one of which must match the current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IfMatch(Vec<Want>);

impl IfMatch {
    /// # Errors
    /// It is neither `*` nor a list of quoted entity tags.
    pub fn parse(list: &str) -> Result<Self, &'static str> {
        tags(list)?.into_iter().map(|tag| Ok(Self::want(tag))).collect::<Result<_, _>>().map(Self)
    }

    fn want(tag: EntityTag<'_>) -> Want {
        match tag {
            EntityTag::Any => Want::Any,
            // A proxy that compresses an answer makes its tag weak. A weak whole tag can only come from there, and its state is
            // the same. `W/"7"` is not one of ours.
            EntityTag::Weak(text) => match Self::want(EntityTag::Strong(text)) {
                whole @ Want::Whole { .. } => whole,
                _ => Want::Never,
            },
            EntityTag::Strong(text) => {
                let mut parts = text.split('.');
                let number = |part: Option<&str>| part.and_then(decimal);
                let revision = number(parts.next());
                let (user, app, mark) = (parts.next(), parts.next(), parts.next());
                match (revision, user, parts.next()) {
                    (Some(revision), None, _) => Want::Revision(revision),
                    (Some(revision), Some(_), None) => {
                        let mark = mark.and_then(|text| {
                            let (mark, metadata) = text.split_once('-').unwrap_or((text, "1"));
                            decimal(metadata).and(hexadecimal(mark))
                        });
                        match (number(user), number(app), mark) {
                            (Some(user), Some(app), Some(mark)) => Want::Whole { revision, user, app, mark },
                            _ => Want::Never,
                        }
                    }
                    _ => Want::Never,
                }
            }
        }
    }

    /// Whether the precondition holds for the session as it is now.
    pub fn holds(&self, now: &Tag) -> bool {
        self.0.iter().any(|want| match want {
            Want::Any => true,
            Want::Revision(revision) => *revision == now.revision,
            Want::Whole { revision, user, app, mark } => {
                (*revision, *user, *app, *mark) == (now.revision, now.user, now.app, now.mark())
            }
            Want::Never => false,
        })
    }

    /// Whether the precondition holds for a scope that is addressed on its own, at this revision.
    pub fn holds_for_scope(&self, now: i64) -> bool {
        self.0.iter().any(|want| match want {
            Want::Any => true,
            Want::Revision(revision) => *revision == now,
            Want::Whole { .. } | Want::Never => false,
        })
    }

    /// Whether it is `*`: there must be something, whatever it is.
    pub fn is_any(&self) -> bool {
        self.0.contains(&Want::Any)
    }

    /// Whether the result depends on the revisions of app and user state, so that they must not change until the commit.
    pub fn depends_on_scopes(&self) -> bool {
        self.0.iter().any(|want| matches!(want, Want::Whole { .. }))
    }
}

/// Whether a reader's list of tags contains `current` (a quoted tag), by the weak comparison, over the whole tag.
///
/// # Errors
/// It is neither `*` nor a list of quoted entity tags.
pub fn none_match_hits(list: &str, current: &str) -> Result<bool, &'static str> {
    let current = current.trim_matches('"');
    Ok(tags(list)?.into_iter().any(|tag| match tag {
        EntityTag::Any => true,
        EntityTag::Weak(text) | EntityTag::Strong(text) => text == current,
    }))
}

/// An entity tag as it is written, without its quotes.
pub(super) enum EntityTag<'a> {
    Any,
    Weak(&'a str),
    Strong(&'a str),
}

/// Splits a list of entity tags. Members may be empty (RFC 9110, 5.6.1.2), and a tag may contain a comma.
pub(super) fn tags(list: &str) -> Result<Vec<EntityTag<'_>>, &'static str> {
    const NOT_TAGS: &str = "must be `*` or a list of quoted entity tags";
    if list.trim() == "*" {
        return Ok(vec![EntityTag::Any]);
    }
    let mut found = Vec::new();
    let mut rest = list;
    loop {
        rest = rest.trim_start_matches([',', ' ', '\t']);
        if rest.is_empty() {
            return if found.is_empty() { Err(NOT_TAGS) } else { Ok(found) };
        }
        let (weak, quoted) = rest.strip_prefix("W/").map_or((false, rest), |quoted| (true, quoted));
        let (text, after) = quoted.strip_prefix('"').and_then(|text| text.split_once('"')).ok_or(NOT_TAGS)?;
        let text = without_coding(text);
        rest = after.trim_start_matches([' ', '\t']);
        if !rest.is_empty() && !rest.starts_with(',') {
            return Err(NOT_TAGS);
        }
        found.push(if weak { EntityTag::Weak(text) } else { EntityTag::Strong(text) });
    }
}

/// A tag without the suffix that Apache (`"x-gzip"`) and Jetty (`"x--gzip"`) add when they compress an answer.
fn without_coding(text: &str) -> &str {
    const CODINGS: [&str; 4] = ["gzip", "br", "zstd", "deflate"];
    let coded = text.rsplit_once('-').filter(|(_, coding)| CODINGS.contains(coding));
    coded.map_or(text, |(tag, _)| tag.strip_suffix('-').unwrap_or(tag))
}

/// A number as [`Tag`] writes it: tags are compared character by character.
fn decimal(text: &str) -> Option<i64> {
    text.parse().ok().filter(|number: &i64| number.to_string() == text)
}

fn hexadecimal(text: &str) -> Option<i64> {
    i64::from_str_radix(text, 16).ok().filter(|number| format!("{number:x}") == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Tag = Tag { revision: 7, user: 2, app: 0, incarnation: 0xabc, timeline: Timeline(0), metadata: 0 };

    #[test]
    fn a_tag_shows_all_that_can_change() {
        assert_eq!(NOW.to_string(), "\"7.2.0.abc\"");
        assert_eq!(Tag { metadata: 3, ..NOW }.to_string(), "\"7.2.0.abc-3\"");
    }

    #[test]
    fn no_tag_of_one_timeline_is_one_of_another() {
        let tags: Vec<Tag> = (0..100).map(|number| Tag { timeline: Timeline(number), ..NOW }).collect();
        for (n, tag) in tags.iter().enumerate() {
            let (if_match, header) = (IfMatch::parse(&tag.to_string()).unwrap(), tag.to_string());
            for (other, then) in tags.iter().enumerate() {
                assert_eq!(if_match.holds(then), n == other);
                assert_eq!(none_match_hits(&header, &then.to_string()), Ok(n == other));
            }
        }
    }

    #[test]
    fn if_match_takes_both_forms() {
        for (header, holds) in [
            ("*", true),
            ("\"7\"", true),
            ("\"6\"", false),
            ("\"6\", \"7\"", true),
            ("\"7.2.0.abc\"", true),
            ("\"7.2.0.abc-3\"", true),
            ("\"7.2.0.abc-x\"", false),
            ("\"7.2.0.abc-\"", false),
            ("\"7.2.0.ABC\"", false),
            ("\"07\"", false),
            ("\"07.2.0.abc\"", false),
            ("\"7\",", true),
            (", \"6\" ,,\t\"7\"", true),
            ("\"6,\", \"7\"", true),
            ("\"6,7\"", false),
            ("\"7.3.0.abc\"", false),
            ("\"7.2.1.abc\"", false),
            ("\"7.2.0.abd\"", false),
            ("\"7.2.0\"", false),
            ("\"7.2.0.abc.1\"", false),
            ("W/\"7\"", false),
            ("W/\"7.2.0.abc\"", true),
            ("W/\"7.2.0.abc-3\"", true),
            ("W/\"6.2.0.abc\"", false),
            ("\"7.2.0.abc-gzip\"", true),
            ("\"7.2.0.abc-3-br\"", true),
            ("\"7.2.0.abc--gzip\"", true),
            ("\"7-gzip\"", true),
            ("\"6-gzip\"", false),
            ("\"7-bzip2\"", false),
            ("\"x\"", false),
            ("\"+7\"", false),
            ("\"\"", false),
        ] {
            assert_eq!(IfMatch::parse(header).map(|m| m.holds(&NOW)), Ok(holds), "{header}");
        }
        for bad in ["7", "", ",", "\"7", "\"7\" \"8\"", "\"7\"\"8\"", "\"6\", *"] {
            assert!(IfMatch::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_the_whole_form_depends_on_the_scopes() {
        assert!(IfMatch::parse("\"7.2.0.abc\"").unwrap().depends_on_scopes());
        assert!(!IfMatch::parse("\"7\"").unwrap().depends_on_scopes());
        assert!(IfMatch::parse("\"2\"").unwrap().holds_for_scope(2));
        assert!(!IfMatch::parse("\"7.2.0.abc\"").unwrap().holds_for_scope(7));
    }

    #[test]
    fn if_none_match_compares_the_whole_tag() {
        let current = NOW.to_string();
        assert_eq!(none_match_hits(&current, &current), Ok(true));
        assert_eq!(none_match_hits("W/\"7.2.0.abc\"", &current), Ok(true));
        assert_eq!(none_match_hits("\"7.2.0.abc-gzip\"", &current), Ok(true));
        assert_eq!(none_match_hits("W/\"7.2.0.abc-br\"", &current), Ok(true));
        assert_eq!(none_match_hits("*", &current), Ok(true));
        assert_eq!(none_match_hits("\"7\"", &current), Ok(false));
        assert_eq!(none_match_hits("\"7.2.0.abc-1\"", &current), Ok(false));
    }
}
