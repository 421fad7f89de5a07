//! Whether what is stored of artifacts agrees: which versions a session's events name, how many versions there are, and which bytes
//! they hold. Each row is judged by itself, next to what was counted of others.

use std::collections::{BTreeSet, HashMap};

use super::findings::Findings;
use crate::domain::artifact::Kind;
use crate::domain::fold::{Fold, Held, Span};
use crate::domain::history::node;
use crate::domain::ids::ArtifactName;

/// A version that events named last from one revision up to, not including, another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSpan {
    pub node: i64,
    pub name: Box<str>,
    pub from: i64,
    pub to: i64,
    pub version: i64,
}

/// Folds the versions that one session's events name, from the base on, and compares. What held at the base is not known: the events
/// that said so are gone.
#[derive(Debug, Default)]
pub struct NamedCheck {
    base: i64,
    /// The version, and the first event that names one.
    named: Fold<String, (i64, i64)>,
    /// Those of which what held at the base was found.
    held_at_base: BTreeSet<String>,
    wanted: Vec<NamedSpan>,
    found: i64,
}

impl NamedCheck {
    pub fn new(base: i64) -> Self {
        Self { base, ..Self::default() }
    }

    /// The next event.
    pub fn event(&mut self, sequence: i64, names: &[(ArtifactName, i64)]) {
        for (name, version) in names {
            let first = self.named.now.get(name.as_str()).map_or(sequence, |held| held.value.1);
            let span = self.named.change(name.as_str(), Some((*version, first)), sequence);
            self.wanted.extend(span.map(|Span { key, from, to, value: (version, _), .. }| NamedSpan {
                node: node(from, to),
                name: key.into(),
                from,
                to,
                version,
            }));
        }
    }

    /// How many spans wait to be looked up.
    pub fn waiting(&self) -> usize {
        self.wanted.len()
    }

    /// The spans to look up; answered with [`Self::found`].
    pub fn wanted(&mut self) -> Vec<NamedSpan> {
        std::mem::take(&mut self.wanted)
    }

    /// The rows found by nodes and names of the wanted ones, in any order.
    pub fn found(&mut self, findings: &mut Findings, wanted: &[NamedSpan], found: &[NamedSpan]) {
        let rows: HashMap<(i64, &str), &NamedSpan> = found.iter().map(|row| ((row.node, &*row.name), row)).collect();
        for span in wanted {
            let NamedSpan { node, name, from, to, .. } = span;
            let fault = match rows.get(&(*node, &**name)) {
                None => "is missing",
                Some(row) if **row != *span => "has other bounds, or another version",
                Some(_) => continue,
            };
            findings.note(|| format!("artifact {name:?}: its span from {from} to {to} {fault}"));
        }
        self.found += found.len() as i64;
    }

    /// A span of what held at the base and ended with a later event, after the last event.
    pub fn held_at_base(&mut self, findings: &mut Findings, name: &str, to: i64) {
        match self.named.now.get(name) {
            Some(held) if held.value.1 == to && self.held_at_base.insert(name.to_owned()) => {}
            _ => findings.note(|| format!("artifact {name:?}: no event ends its span to {to}")),
        }
    }

    /// A row of what holds now, after the last event.
    pub fn state(&mut self, findings: &mut Findings, name: &str, version: i64, revision: i64) {
        match self.named.now.remove(name) {
            Some(held) if (held.value.0, held.since) == (version, revision) => {}
            Some(Held { since: by, .. }) => {
                findings
                    .note(|| format!("artifact {name:?}: it has not the version, or not the revision, of event {by}"));
            }
            None if (0..=self.base).contains(&revision) && self.base > 0 => {}
            None => findings.note(|| format!("artifact {name:?}: no event names it at revision {revision}")),
        }
    }

    /// After the last row; `spans` is the number of the session's spans that begin after its base.
    pub fn finish(self, findings: &mut Findings, spans: i64) {
        for (name, Held { since, .. }) in &self.named.now {
            findings.note(|| format!("artifact {name:?}: what event {since} names is lacking"));
        }
        if spans != self.found {
            let (found, named) = (spans, self.found);
            findings.note(|| format!("spans of versions of artifacts: {found}, where events ended {named}"));
        }
    }
}

/// Whose an artifact is, as far as it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// A session that is there, or a user.
    Present,
    /// A session that was removed, or is being imported: its rows come and go.
    Passing,
    Nobody,
}

/// The row of an artifact, and what there is of its versions.
#[derive(Debug, Clone)]
pub struct NameRow {
    pub owner: Owner,
    pub next: i64,
    pub latest: Option<i64>,
    pub versions: i64,
    pub found: i64,
    pub found_latest: Option<i64>,
    /// There is a row that counts the versions of its owner.
    pub is_counted: bool,
}

impl NameRow {
    /// What is wrong with it.
    pub fn faults(&self) -> Vec<String> {
        let Self { owner, next, latest, versions, found, found_latest, is_counted } = self;
        if *owner == Owner::Nobody {
            return vec!["it is of a session that is not there".to_owned()];
        }
        let mut faults = Vec::new();
        if *owner == Owner::Passing {
            return faults;
        }
        if versions != found {
            faults.push(format!("{versions} versions are counted, and there are {found}"));
        }
        if latest != found_latest {
            let shown =
                |version: &Option<i64>| version.map_or_else(|| "none".to_owned(), |version| version.to_string());
            faults.push(format!("the latest version is {}, and {} is noted", shown(found_latest), shown(latest)));
        }
        if found_latest.is_some_and(|latest| *next <= latest) {
            faults.push(format!("the next version is to be {next}, which has been used"));
        }
        if *found > 0 && !is_counted {
            faults.push("nothing counts the versions of its session or user".to_owned());
        }
        faults
    }
}

/// A version, and what there is of its bytes.
#[derive(Debug, Clone)]
pub struct VersionRow {
    pub owner: Owner,
    pub kind: String,
    pub size: Option<u64>,
    pub has_digest: bool,
    pub has_blob: bool,
    /// The size of its blob, if that is there.
    pub held: Option<u64>,
    /// There is a row of its name.
    pub has_name: bool,
}

impl VersionRow {
    /// What is wrong with it.
    pub fn faults(&self) -> Vec<String> {
        let Self { owner, kind, size, has_digest, has_blob, held, has_name } = self;
        if *owner == Owner::Nobody {
            return vec!["it is of a session that is not there".to_owned()];
        }
        let mut faults = Vec::new();
        if *owner == Owner::Present && !has_name {
            faults.push("the row of its name is missing".to_owned());
        }
        let of_kind = Kind::parse(kind).map(|kind| matches!(kind, Kind::Bytes | Kind::Text));
        if of_kind.is_none_or(|has_bytes| [size.is_some(), *has_digest, *has_blob] != [has_bytes; 3]) {
            faults.push("it does not have what its kind has".to_owned());
        }
        match (size, held) {
            (Some(_), None) if *has_blob => faults.push("the database has no bytes of it".to_owned()),
            (Some(size), Some(held)) if size != held => {
                faults.push(format!("there are {held} bytes, and not {size}"));
            }
            _ => {}
        }
        faults
    }
}

/// The row that counts the versions of a session or a user, and how many there are.
#[derive(Debug, Clone, Copy)]
pub struct PlaceRow {
    pub owner: Owner,
    pub versions: i64,
    pub found: i64,
}

impl PlaceRow {
    /// What is wrong with it.
    pub fn fault(&self) -> Option<String> {
        let Self { owner, versions, found } = self;
        match owner {
            Owner::Nobody => Some("versions of artifacts are counted of a session that is not there".to_owned()),
            Owner::Present if versions != found => {
                Some(format!("{versions} versions of artifacts are counted, and there are {found}"))
            }
            Owner::Present | Owner::Passing => None,
        }
    }
}

/// The row of some bytes, and what there is of them.
#[derive(Debug, Clone)]
pub struct BlobRow {
    pub size: i64,
    pub versions: i64,
    pub is_loose: bool,
    /// They are in a store.
    pub is_elsewhere: bool,
    /// How many versions hold them.
    pub held: i64,
    /// The number of chunks, the last number of one, and the bytes in them; `None` without chunks.
    pub chunks: Option<(i64, i64, i64)>,
}

impl BlobRow {
    /// What is wrong with it.
    pub fn faults(&self) -> Vec<String> {
        let Self { size, versions, is_loose, is_elsewhere, held, chunks } = self;
        let mut faults = Vec::new();
        if *held != (*versions).max(0) {
            faults.push(format!("{held} versions hold it, and {versions} are counted"));
        }
        if (*versions > 0) == *is_loose {
            faults.push(format!(
                "it is {}noted as loose, and {versions} versions hold it",
                if *is_loose { "" } else { "not " }
            ));
        }
        if *versions <= 0 {
            // It is still coming, or going.
            return faults;
        }
        match chunks {
            Some(_) if *is_elsewhere => faults.push("it is in a store, and has chunks".to_owned()),
            None if !is_elsewhere => faults.push("it has no chunks".to_owned()),
            Some((count, last, _)) if *count != last + 1 => faults.push("a chunk of it is missing".to_owned()),
            Some((.., bytes)) if bytes != size => {
                faults.push(format!("its chunks have {bytes} bytes, and not {size}"));
            }
            _ => {}
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, version: i64) -> (ArtifactName, i64) {
        (ArtifactName::parse(name).unwrap(), version)
    }

    fn span(name: &str, from: i64, to: i64, version: i64) -> NamedSpan {
        NamedSpan { node: node(from, to), name: name.into(), from, to, version }
    }

    /// What a session of base 2 stores, whose events 3 to 6 name `f`, `g`, `f`, `f`; `old` held at the base, as `f` did.
    struct Stored {
        spans: Vec<NamedSpan>,
        at_base: Vec<(&'static str, i64)>,
        state: Vec<(&'static str, i64, i64)>,
    }

    #[track_caller]
    fn differs(damage: impl FnOnce(&mut Stored), expected: &[&str]) {
        let mut stored = Stored {
            spans: vec![span("f", 3, 5, 1), span("f", 5, 6, 2)],
            at_base: vec![("f", 3)],
            state: vec![("f", 0, 6), ("g", 0, 4), ("old", 7, 1)],
        };
        damage(&mut stored);
        let (mut check, mut findings) = (NamedCheck::new(2), Findings::default());
        for (sequence, names) in
            [(3, vec![named("f", 1)]), (4, vec![named("g", 0)]), (5, vec![named("f", 2)]), (6, vec![named("f", 0)])]
        {
            check.event(sequence, &names);
        }
        let wanted = check.wanted();
        let wants = |row: &&NamedSpan| wanted.iter().any(|w| w.node == row.node && w.name == row.name);
        let found: Vec<NamedSpan> = stored.spans.iter().filter(wants).cloned().collect();
        check.found(&mut findings, &wanted, &found);
        stored.at_base.iter().for_each(|(name, to)| check.held_at_base(&mut findings, name, *to));
        stored.state.iter().for_each(|(name, version, revision)| check.state(&mut findings, name, *version, *revision));
        check.finish(&mut findings, stored.spans.len() as i64);
        assert_eq!(findings.lines, expected);
    }

    #[test]
    fn what_events_name_is_what_is_stored() {
        differs(|_| {}, &[]);
        differs(|s| s.at_base.clear(), &[]);
        differs(|s| drop(s.spans.remove(0)), &["artifact \"f\": its span from 3 to 5 is missing"]);
        differs(
            |s| s.spans[1].version = 3,
            &["artifact \"f\": its span from 5 to 6 has other bounds, or another version"],
        );
        differs(|s| s.spans.push(span("g", 3, 4, 0)), &["spans of versions of artifacts: 3, where events ended 2"]);
        differs(|s| s.at_base.push(("f", 3)), &["artifact \"f\": no event ends its span to 3"]);
        differs(|s| s.at_base.push(("old", 5)), &["artifact \"old\": no event ends its span to 5"]);
        differs(|s| s.state[0].1 = 1, &["artifact \"f\": it has not the version, or not the revision, of event 6"]);
        differs(|s| s.state[0].2 = 5, &["artifact \"f\": it has not the version, or not the revision, of event 6"]);
        differs(|s| s.state[2].2 = 3, &["artifact \"old\": no event names it at revision 3"]);
        differs(|s| s.state.retain(|(name, ..)| *name != "g"), &["artifact \"g\": what event 4 names is lacking"]);
    }

    #[test]
    fn a_name_says_what_there_is() {
        let row = NameRow {
            owner: Owner::Present,
            next: 5,
            latest: Some(3),
            versions: 2,
            found: 2,
            found_latest: Some(3),
            is_counted: true,
        };
        assert_eq!(row.faults(), Vec::<String>::new());
        let none =
            NameRow { latest: None, versions: 0, found: 0, found_latest: None, is_counted: false, ..row.clone() };
        assert_eq!(none.faults(), Vec::<String>::new());
        for (row, fault) in [
            (NameRow { versions: 3, ..row.clone() }, "3 versions are counted, and there are 2"),
            (NameRow { latest: None, ..row.clone() }, "the latest version is 3, and none is noted"),
            (NameRow { next: 3, ..row.clone() }, "the next version is to be 3, which has been used"),
            (NameRow { is_counted: false, ..row.clone() }, "nothing counts the versions of its session or user"),
            (NameRow { owner: Owner::Nobody, ..row.clone() }, "it is of a session that is not there"),
        ] {
            assert_eq!(row.faults(), [fault]);
        }
        assert!(NameRow { owner: Owner::Passing, versions: 9, ..row }.faults().is_empty());
    }

    #[test]
    fn a_version_has_what_its_kind_has() {
        let row = VersionRow {
            owner: Owner::Present,
            kind: "text".to_owned(),
            size: Some(3),
            has_digest: true,
            has_blob: true,
            held: Some(3),
            has_name: true,
        };
        let gone = VersionRow {
            kind: "gone".to_owned(),
            size: None,
            has_digest: false,
            has_blob: false,
            held: None,
            ..row.clone()
        };
        assert_eq!((row.faults(), gone.faults()), (Vec::new(), Vec::new()));
        for (row, fault) in [
            (VersionRow { has_name: false, ..row.clone() }, "the row of its name is missing"),
            (VersionRow { kind: "uri".to_owned(), ..row.clone() }, "it does not have what its kind has"),
            (VersionRow { kind: "x".to_owned(), ..row.clone() }, "it does not have what its kind has"),
            (VersionRow { has_digest: false, ..row.clone() }, "it does not have what its kind has"),
            (VersionRow { size: Some(1), ..gone }, "it does not have what its kind has"),
            (VersionRow { held: None, ..row.clone() }, "the database has no bytes of it"),
            (VersionRow { held: Some(4), ..row.clone() }, "there are 4 bytes, and not 3"),
            (VersionRow { owner: Owner::Nobody, ..row }, "it is of a session that is not there"),
        ] {
            assert_eq!(row.faults(), [fault]);
        }
    }

    #[test]
    fn counts_are_of_what_there_is() {
        let row = PlaceRow { owner: Owner::Present, versions: 2, found: 2 };
        assert_eq!(row.fault(), None);
        assert_eq!(PlaceRow { owner: Owner::Passing, versions: 3, ..row }.fault(), None);
        assert!(PlaceRow { versions: 3, ..row }.fault().is_some());
        assert!(PlaceRow { owner: Owner::Nobody, ..row }.fault().is_some());
    }

    #[test]
    fn bytes_are_whole_and_held() {
        let row =
            BlobRow { size: 5, versions: 2, is_loose: false, is_elsewhere: false, held: 2, chunks: Some((2, 1, 5)) };
        let elsewhere = BlobRow { is_elsewhere: true, chunks: None, ..row.clone() };
        let coming = BlobRow { size: 0, versions: 0, is_loose: true, held: 0, ..row.clone() };
        let going = BlobRow { versions: -1, ..coming.clone() };
        for row in [&row, &elsewhere, &coming, &going] {
            assert_eq!(row.faults(), Vec::<String>::new());
        }
        for (row, fault) in [
            (BlobRow { held: 1, ..row.clone() }, "1 versions hold it, and 2 are counted"),
            (BlobRow { is_loose: true, ..row.clone() }, "it is noted as loose, and 2 versions hold it"),
            (BlobRow { is_loose: false, ..coming }, "it is not noted as loose, and 0 versions hold it"),
            (BlobRow { chunks: None, ..row.clone() }, "it has no chunks"),
            (BlobRow { chunks: Some((1, 1, 5)), ..row.clone() }, "a chunk of it is missing"),
            (BlobRow { chunks: Some((2, 1, 4)), ..row.clone() }, "its chunks have 4 bytes, and not 5"),
            (BlobRow { chunks: Some((2, 1, 5)), ..elsewhere }, "it is in a store, and has chunks"),
            (BlobRow { held: 1, ..going }, "1 versions hold it, and -1 are counted"),
        ] {
            assert_eq!(row.faults(), [fault]);
        }
    }
}
