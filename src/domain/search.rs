//! Search over what was said (contract, section 17): the words of events, which events may be found, and in which order.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, Script};
use icu_properties::script::ScriptWithExtensions;
use sha2::{Digest as _, Sha256};

use super::effective::{hidden, is_hidden};
use super::event::StoredEvent;
use super::find::fold;
use super::ids::{AppName, SessionId, UserKey};
use super::json::{Json, RawJson};
use super::policy::Walked;
use super::time::Micros;

/// How many distinct words of a text are looked for.
const MAX_WORDS: usize = 32;

/// How many events one answer looks at.
pub const LOOKED: usize = 10_000;

/// Turns the words of one user into the numbers that stand for them in the index. A word of another user is another number, so a list of
/// the index is of one user. It is 64 bits of SHA-256: an accident merges two words once in some billions of users.
#[derive(Clone)]
pub struct Index(Sha256);

impl Index {
    pub fn of(user: &UserKey) -> Self {
        let names = [user.app.as_str(), user.user.as_str()];
        Self(names.iter().fold(Sha256::new(), |hash, name| {
            hash.chain_update((name.len() as u64).to_be_bytes()).chain_update(name.as_bytes())
        }))
    }

    fn number(&self, word: &str) -> i64 {
        let digest = self.0.clone().chain_update(word.as_bytes()).finalize();
        digest.iter().take(8).fold(0, |number, byte| (number << 8) | i64::from(*byte))
    }

    /// The first distinct words of a text that is looked for.
    ///
    /// # Errors
    /// It has none.
    pub fn asked(&self, text: &str) -> Result<Vec<i64>, &'static str> {
        let mut words = Vec::new();
        cut(&fold(text), |word| {
            let number = self.number(word);
            if words.len() < MAX_WORDS && !words.contains(&number) {
                words.push(number);
            }
        });
        if words.is_empty() { Err("must hold a word") } else { Ok(words) }
    }

    /// The words of an event: those of its text parts that are no thoughts.
    fn words(&self, event: Json<'_>) -> BTreeSet<i64> {
        let mut words = BTreeSet::new();
        let parts = event.get("content").and_then(|content| content.get("parts")).and_then(Json::as_array);
        for part in parts.into_iter().flatten() {
            let is_thought = part.get("thought").is_some_and(|thought| thought.text() == "true");
            if let Some(text) = part.get("text").and_then(Json::as_str).filter(|_| !is_thought) {
                cut(&fold(&text), |word| {
                    words.insert(self.number(word));
                });
            }
        }
        words
    }

    /// What the index has of an event.
    pub fn entry(&self, event: &StoredEvent) -> Entry {
        let body = Json::trusted(&event.body);
        let author = body.get("author").and_then(Json::as_str).unwrap_or_default().into_owned();
        let words = self.words(body).into_iter().collect();
        Entry { sequence: event.sequence, commit_time: event.commit_time, author, words }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub sequence: i64,
    pub commit_time: Micros,
    pub author: String,
    pub words: Vec<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Separates words.
    Gap,
    Letter,
    /// Of a script that puts no spaces between words.
    Unspaced,
}

fn class(c: char) -> Class {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() { Class::Letter } else { Class::Gap };
    }
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    let is_part = GeneralCategoryGroup::Letter.contains(category)
        || GeneralCategoryGroup::Mark.contains(category)
        || category == GeneralCategory::DecimalNumber;
    /// The first character of Thai, before which none of the others has one.
    const THAI: char = '\u{E00}';
    let scripts = ScriptWithExtensions::new();
    let unspaced =
        [Script::Han, Script::Hiragana, Script::Katakana, Script::Thai, Script::Lao, Script::Khmer, Script::Myanmar];
    match is_part {
        false => Class::Gap,
        true if c >= THAI && unspaced.iter().any(|script| scripts.has_script(c, *script)) => Class::Unspaced,
        true => Class::Letter,
    }
}

/// Cuts a folded text into words.
fn cut(folded: &str, mut word: impl FnMut(&str)) {
    let mut rest = folded;
    while let Some(first) = rest.chars().next() {
        let of = class(first);
        let (run, after) = rest.split_at(rest.find(|c| class(c) != of).unwrap_or(rest.len()));
        rest = after;
        match of {
            Class::Gap => {}
            Class::Letter => word(run),
            Class::Unspaced => {
                let neighbours = run.chars().zip(run.chars().skip(1));
                let mut is_one = true;
                for (left, right) in neighbours {
                    is_one = false;
                    word(&String::from_iter([left, right]));
                }
                if is_one {
                    word(run);
                }
            }
        }
    }
}

/// What a search selects of its hits. It changes no score.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub from: Option<Micros>,
    /// Exclusive.
    pub to: Option<Micros>,
    pub author: Option<String>,
    pub session: Option<SessionId>,
    pub except: Option<SessionId>,
    pub limit: usize,
}

impl Filter {
    fn takes(&self, event: &Candidate, session: &Place) -> bool {
        self.from.is_none_or(|from| from <= event.commit_time)
            && self.to.is_none_or(|to| event.commit_time < to)
            && self.author.as_ref().is_none_or(|author| *author == event.author)
            && self.session.as_ref().is_none_or(|id| *id == session.id)
            && self.except.as_ref().is_none_or(|id| *id != session.id)
    }
}

/// A session of the user.
#[derive(Debug, Clone)]
pub struct Place {
    pub id: SessionId,
    pub incarnation: i64,
    pub revision: i64,
    pub base: i64,
    pub create_time: Micros,
    pub forked_from: Option<(SessionId, i64)>,
    pub display_name: Option<RawJson>,
    pub is_live: bool,
    /// The index has its events up to this one.
    pub indexed: i64,
}

impl Place {
    /// How many events the index lacks.
    pub fn behind(&self) -> i64 {
        self.revision - self.indexed.max(self.base)
    }
}

/// An event that has some of the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub incarnation: i64,
    pub sequence: i64,
    pub commit_time: Micros,
    pub author: String,
    /// Which of the words, by their places: a bit each.
    pub words: u32,
}

impl Candidate {
    /// `None` if it has none of the words.
    pub fn of(incarnation: i64, entry: Entry, asked: &[i64]) -> Option<Self> {
        let bits = asked.iter().enumerate().filter(|(_, word)| entry.words.binary_search(word).is_ok());
        let words = bits.fold(0, |words, (place, _)| words | 1 << place);
        let Entry { sequence, commit_time, author, .. } = entry;
        (words != 0).then_some(Self { incarnation, sequence, commit_time, author, words })
    }
}

/// The sessions of a user, and what decides which of their events may be found.
#[derive(Debug, Default)]
pub struct Corpus {
    pub sessions: Vec<Place>,
    /// By incarnation, the events that rewind, ascending, each with the last one before those that it takes back.
    pub rewinds: HashMap<i64, Vec<(i64, i64)>>,
    /// Sessions that are gone, with what they were forks of.
    pub removed: Vec<(SessionId, SessionId)>,
    /// From the index.
    pub candidates: Vec<Candidate>,
    /// The index has more.
    pub is_cut: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub session: SessionId,
    pub incarnation: i64,
    pub sequence: i64,
    pub score: f64,
}

impl Corpus {
    /// The best hits among the candidates.
    pub fn rank(&self, filter: &Filter) -> Vec<Hit> {
        let sessions: HashMap<i64, &Place> = self.sessions.iter().map(|place| (place.incarnation, place)).collect();
        let hidden: HashMap<i64, _> =
            self.rewinds.iter().map(|(session, rewinds)| (*session, hidden(rewinds))).collect();
        let mut found: Vec<(&Candidate, &Place)> = Vec::new();
        for event in &self.candidates {
            let Some(place) = sessions.get(&event.incarnation).filter(|place| place.is_live) else { continue };
            let is_taken_back = hidden.get(&event.incarnation).is_some_and(|of| is_hidden(event.sequence, of));
            if (place.base + 1..=place.revision).contains(&event.sequence) && !is_taken_back {
                found.push((event, place));
            }
        }
        self.leave_out_copies(&mut found);
        let mut holders: BTreeMap<u32, f64> = BTreeMap::new();
        for (event, _) in &found {
            for word in bits(event.words) {
                *holders.entry(word).or_default() += 1.0;
            }
        }
        let all = found.len() as f64;
        let score = |words: u32| -> f64 {
            let of_words = bits(words).map(|word| (1.0 + all / holders.get(&word).copied().unwrap_or(all)).ln());
            // Sums of other words that are equal differ in their last bits.
            (of_words.sum::<f64>() * 1e12).round() / 1e12
        };
        found.retain(|(event, place)| filter.takes(event, place));
        let mut found: Vec<_> = found.into_iter().map(|(event, place)| (score(event.words), event, place)).collect();
        found.sort_by(|(a, one, here), (b, other, there)| {
            let newer = (other.commit_time, other.sequence).cmp(&(one.commit_time, one.sequence));
            b.total_cmp(a).then(newer).then_with(|| here.id.cmp(&there.id))
        });
        let hit = |(score, event, place): (f64, &Candidate, &Place)| Hit {
            session: place.id.clone(),
            incarnation: event.incarnation,
            sequence: event.sequence,
            score,
        };
        found.into_iter().take(filter.limit).map(hit).collect()
    }

    /// An event that a fork took over is not found there, as long as it is found in a session that it was taken from.
    fn leave_out_copies(&self, found: &mut Vec<(&Candidate, &Place)>) {
        let mut sources: HashMap<&SessionId, Vec<&SessionId>> = HashMap::new();
        let forks = self.sessions.iter().filter_map(|place| Some((&place.id, &place.forked_from.as_ref()?.0)));
        for (fork, source) in forks.chain(self.removed.iter().map(|(fork, source)| (fork, source))) {
            sources.entry(fork).or_default().push(source);
        }
        if sources.is_empty() {
            return;
        }
        let there: HashMap<(&SessionId, i64, Micros), Micros> = found
            .iter()
            .map(|(event, place)| ((&place.id, event.sequence, event.commit_time), place.create_time))
            .collect();
        let mut above: HashMap<i64, HashSet<&SessionId>> = HashMap::new();
        found.retain(|(event, place)| {
            let Some((source, last)) = &place.forked_from else { return true };
            if event.sequence > *last {
                return true;
            }
            let above = above.entry(place.incarnation).or_insert_with(|| {
                let (mut seen, mut next) = (HashSet::new(), vec![source]);
                while let Some(id) = next.pop() {
                    if seen.insert(id) {
                        next.extend(sources.get(id).into_iter().flatten());
                    }
                }
                seen.remove(&place.id);
                seen
            });
            // An id that was used again, by a fork of this one, is no source of it.
            let is_source = |created: &Micros| *created <= place.create_time;
            !above.iter().any(|id| there.get(&(*id, event.sequence, event.commit_time)).is_some_and(is_source))
        });
    }
}

/// The places of the bits that are set.
fn bits(words: u32) -> impl Iterator<Item = u32> {
    (0..u32::BITS).filter(move |place| words & (1 << place) != 0)
}

/// A step of a walk through the sessions of an app, for those that the index lacks events of, or, when it is to go, has some of.
#[derive(Debug, Clone)]
pub struct IndexWalk {
    pub app: AppName,
    pub after: Option<Walked>,
}

/// Whether the events of an app are indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indexing {
    On,
    /// It was switched off, and the index is there still.
    Ending,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::UserId;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        cut(&fold(text), |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn a_text_is_cut_into_words() {
        for (text, expected) in [
            ("Where is my refund?", vec!["where", "is", "my", "refund"]),
            ("Straße, ÉRIC's 4711.50", vec!["strasse", "eric", "s", "4711", "50"]),
            ("snake_case e-mail", vec!["snake", "case", "e", "mail"]),
            ("東京都", vec!["東京", "京都"]),
            ("京", vec!["京"]),
            ("東京 AI都", vec!["東京", "ai", "都"]),
            ("ガギ", vec!["カキ"]),
            ("コーヒー", vec!["コー", "ーヒ", "ヒー"]),
            ("東京タワー", vec!["東京", "京タ", "タワ", "ワー"]),
            ("ไทย", vec!["ไท", "ทย"]),
            (
                "한국어 공부",
                vec![
                    "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}\u{110b}\u{1165}",
                    "\u{1100}\u{1169}\u{11bc}\u{1107}\u{116e}",
                ],
            ),
            ("дом Дом", vec!["дом", "дом"]),
            ("٣٤ ३४", vec!["٣٤", "३४"]),
            ("😀 … — ", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    fn user(name: &str) -> UserKey {
        UserKey { app: AppName::parse("app").unwrap(), user: UserId::parse(name).unwrap() }
    }

    #[test]
    fn a_word_is_another_number_for_another_user() {
        let (ada, bob) = (Index::of(&user("ada")), Index::of(&user("bob")));
        assert_eq!(ada.asked("Refund, refund!"), ada.asked("refund"));
        assert_ne!(ada.asked("refund"), bob.asked("refund"));
        assert_ne!(ada.asked("refund"), ada.asked("refunds"));
        assert_eq!(ada.asked("… —"), Err("must hold a word"));
        let many: Vec<String> = (0..40).map(|n| format!("w{n}")).collect();
        assert_eq!(ada.asked(&many.join(" ")).unwrap().len(), MAX_WORDS);
    }

    #[test]
    fn thoughts_calls_and_ids_have_no_words() {
        let index = Index::of(&user("ada"));
        let body = r#"{"id":"one","author":"Ada","content":{"role":"model","parts":[{"text":"said\u00e9","thought":false},
            {"text":"thought","thought":true},{"functionCall":{"name":"called","args":{"a":"argument"}}},{"text":7},null]}}"#;
        let entry = index.entry(&StoredEvent::new(3, Micros(5), body.to_owned()));
        assert_eq!(entry.words, index.asked("saide").unwrap());
        assert_eq!((entry.sequence, entry.commit_time, &*entry.author), (3, Micros(5), "Ada"));
    }

    fn place(id: &str, incarnation: i64, forked_from: Option<(&str, i64)>) -> Place {
        Place {
            id: SessionId::parse(id).unwrap(),
            incarnation,
            revision: 100,
            base: 0,
            create_time: Micros(incarnation),
            forked_from: forked_from.map(|(id, at)| (SessionId::parse(id).unwrap(), at)),
            display_name: None,
            is_live: true,
            indexed: 100,
        }
    }

    fn event(incarnation: i64, sequence: i64, commit_time: i64, words: u32) -> Candidate {
        Candidate { incarnation, sequence, commit_time: Micros(commit_time), author: "user".to_owned(), words }
    }

    fn found(corpus: &Corpus, filter: &Filter) -> Vec<(String, i64)> {
        corpus.rank(filter).into_iter().map(|hit| (hit.session.to_string(), hit.sequence)).collect()
    }

    const ALL: Filter = Filter { from: None, to: None, author: None, session: None, except: None, limit: 100 };

    #[test]
    fn rare_words_count_more_and_filters_change_no_score() {
        let candidates =
            vec![event(1, 1, 10, 0b01), event(1, 2, 20, 0b01), event(1, 3, 30, 0b10), event(1, 4, 25, 0b11)];
        let corpus = Corpus { sessions: vec![place("s", 1, None)], candidates, ..Corpus::default() };
        let hits = corpus.rank(&ALL);
        let (common, rare) = ((1.0f64 + 4.0 / 3.0).ln(), (1.0f64 + 4.0 / 2.0).ln());
        let scores: Vec<(i64, f64)> = hits.iter().map(|hit| (hit.sequence, hit.score)).collect();
        for ((sequence, score), (expected, sum)) in
            scores.into_iter().zip([(4, common + rare), (3, rare), (2, common), (1, common)])
        {
            assert!(sequence == expected && (score - sum).abs() < 1e-12, "{sequence}: {score}");
        }
        let only = Filter { to: Some(Micros(25)), from: Some(Micros(20)), ..ALL };
        assert_eq!(corpus.rank(&only), [hits[2].clone()]);
        assert_eq!(found(&corpus, &Filter { author: Some("agent".to_owned()), ..ALL }), []);
        assert_eq!(found(&corpus, &Filter { except: Some(SessionId::parse("s").unwrap()), ..ALL }), []);
        assert_eq!(corpus.rank(&Filter { limit: 1, ..ALL }), [hits[0].clone()]);
    }

    /// (1 + 7/5)(1 + 7/3) = 1 + 7/1.
    #[test]
    fn scores_that_are_equal_are_equal() {
        let words = [0b011, 0b011, 0b001, 0b001, 0b001, 0b010, 0b100];
        let candidates = (1..).zip(words).map(|(n, words)| event(1, n, n, words)).collect();
        let corpus = Corpus { sessions: vec![place("s", 1, None)], candidates, ..Corpus::default() };
        let hits = corpus.rank(&ALL);
        let sequences: Vec<i64> = hits.iter().map(|hit| hit.sequence).collect();
        assert_eq!(sequences, [7, 2, 1, 6, 5, 4, 3]);
        assert!((hits[0].score - 8.0f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn what_is_gone_is_not_found() {
        let mut trimmed = place("trimmed", 2, None);
        trimmed.base = 1;
        let mut expired = place("expired", 3, None);
        expired.is_live = false;
        let candidates = [(1, 1), (1, 2), (1, 3), (1, 5), (2, 1), (2, 2), (3, 1), (4, 1)];
        let corpus = Corpus {
            sessions: vec![place("s", 1, None), trimmed, expired],
            rewinds: HashMap::from([(1, vec![(4, 1)])]),
            candidates: candidates.map(|(session, sequence)| event(session, sequence, sequence, 1)).into(),
            ..Corpus::default()
        };
        let expected = [("s", 5), ("trimmed", 2), ("s", 1)];
        assert_eq!(found(&corpus, &ALL), expected.map(|(id, sequence)| (id.to_owned(), sequence)));
        assert!(corpus.rank(&ALL).iter().all(|hit| (hit.score - 2.0f64.ln()).abs() < 1e-12));
    }

    #[test]
    fn a_copy_is_found_when_no_source_has_it() {
        let copies = |sessions: Vec<Place>, rewinds: &[(i64, Vec<(i64, i64)>)], removed: &[(&str, &str)]| {
            let candidates = sessions
                .iter()
                .flat_map(|place| [event(place.incarnation, 1, 1, 1), event(place.incarnation, 2, 2, 1)]);
            let ids = |id: &str| SessionId::parse(id).unwrap();
            let corpus = Corpus {
                candidates: candidates.collect(),
                rewinds: rewinds.iter().cloned().collect(),
                removed: removed.iter().map(|(fork, source)| (ids(fork), ids(source))).collect(),
                sessions,
                ..Corpus::default()
            };
            found(&corpus, &ALL)
                .into_iter()
                .map(|(id, sequence)| format!("{id}{sequence}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let (a, b, c) = (place("a", 1, None), place("b", 2, Some(("a", 2))), place("c", 3, Some(("b", 1))));
        assert_eq!(copies(vec![a.clone(), b.clone()], &[], &[]), "a2 a1");
        // What a fork has beyond its source is its own.
        assert_eq!(copies(vec![a.clone(), b.clone(), c.clone()], &[], &[]), "a2 c2 a1");
        // Rewound in the source.
        assert_eq!(copies(vec![a.clone(), b.clone()], &[(1, vec![(3, 1)])], &[]), "b2 a1");
        // The one between is gone.
        assert_eq!(copies(vec![a.clone(), c.clone()], &[], &[("b", "a")]), "a2 c2 a1");
        assert_eq!(copies(vec![a, c.clone()], &[], &[]), "a2 c2 a1 c1");
        // The source's id was used again, by a fork of its fork.
        assert_eq!(copies(vec![place("b", 4, Some(("c", 2))), c], &[], &[]), "c2 c1");
    }
}
