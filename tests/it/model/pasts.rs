//! The past of each key is what the model recorded as it came, by whatever way, and whatever became of the sessions since.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    reference::{Maker, Past, Place, Shared},
    run::{Checked, Run, elements, equal, status},
    value::Json,
};
use crate::support::client::segment;

type Pasts = BTreeMap<String, Vec<Past>>;

impl Run<'_> {
    /// The past of a key, in ascending order, by pages of so many.
    async fn past(&self, path: &str, query: &str) -> Checked<Vec<Past>> {
        let (mut past, mut token) = (Vec::new(), String::new());
        loop {
            let page = status(self.client.get(format!("{path}/history?{query}{token}")).await, 200)?;
            for change in elements(&page.raw(&["changes"])) {
                past.push(change_of(&Json::parse(&change))?);
            }
            match page.json()["nextPageToken"].as_str() {
                Some(next) => token = format!("&pageToken={next}"),
                None => break,
            }
        }
        if !query.contains("order=asc") {
            past.reverse();
        }
        Ok(past)
    }

    /// The keys of one scope, whose paths begin with `path`.
    async fn compare_pasts_of(&self, path: &str, prefix: &str, pasts: &Pasts) -> Checked {
        // No path has an empty key.
        for (n, (key, expected)) in pasts.iter().filter(|(key, _)| !(prefix.is_empty() && key.is_empty())).enumerate() {
            let path = format!("{path}/{}", segment(&format!("{prefix}{key}")));
            if expected.is_empty() {
                status(self.client.get(format!("{path}/history")).await, 404)?;
                continue;
            }
            let query = ["pageSize=1000", "pageSize=1", "order=asc&pageSize=2", "order=asc&pageSize=1"][n % 4];
            equal(&path, &self.past(&path, query).await?, expected)?;
        }
        Ok(())
    }

    fn places(&self) -> Vec<Place> {
        self.world.sessions.keys().copied().collect()
    }

    fn pasts_of(&self, at: Place) -> Pasts {
        let mut pasts = self.now(at).session.past;
        let makers = pasts.values_mut().flatten().filter_map(|past| past.by.as_mut());
        // A fork has the events of its source.
        makers.for_each(|by| by.session = at.id());
        pasts
    }

    /// All keys, now.
    pub async fn compare_keys(&self) -> Checked {
        for (n, at) in self.places().into_iter().enumerate() {
            let path = format!("{}/state", self.path(at));
            self.compare_pasts_of(&path, "", &self.pasts_of(at)).await?;
            for (shared, prefix) in [(Shared::App, "app:"), (Shared::User, "user:")] {
                let past = self.world.shared(at, shared).past;
                match n % 2 {
                    0 => self.compare_pasts_of(&path, prefix, &past).await?,
                    _ => self.compare_pasts_of(&self.shared_path(at, shared), "", &past).await?,
                }
            }
        }
        Ok(())
    }

    /// An app that is exported and imported under another name has the same past; a trim leaves a base; a session that is deleted
    /// has made what it made; and who is erased has made nothing.
    pub async fn live_on(&mut self) -> Checked {
        let apps: BTreeSet<u8> = self.places().into_iter().map(|at| at.app).collect();
        for app in apps {
            let there: Vec<Place> = self.places().into_iter().filter(|at| at.app == app).collect();
            let copy = format!("{}-copy", self.app_path(there[0]));
            self.move_app(there[0], &copy).await?;
            for at in &there {
                let moved = |path: String| path.replace(&self.app_path(*at), &copy);
                self.compare_pasts_of(&moved(format!("{}/state", self.path(*at))), "", &self.pasts_of(*at)).await?;
                for shared in [Shared::App, Shared::User] {
                    let past = self.world.shared(*at, shared).past;
                    self.compare_pasts_of(&moved(self.shared_path(*at, shared)), "", &past).await?;
                }
            }
            for (n, at) in there.iter().enumerate() {
                match n % 3 {
                    0 => self.trim(*at).await?,
                    1 => drop(status(self.client.delete(self.path(*at)).await, 204)?),
                    _ => {}
                }
            }
            self.erase(there[0]).await?;
        }
        Ok(())
    }

    async fn move_app(&self, at: Place, copy: &str) -> Checked {
        let export = status(self.client.get(format!("{}/export", self.app_path(at))).await, 200)?;
        let name = copy.rsplit('/').next().expect("a name");
        let import = self.client.post(format!("/v1/import?appName={name}"));
        let results = status(import.body("application/x-ndjson", export.text().to_owned()).await, 200)?;
        if results.text().contains(r#""code""#) {
            return Err(format!("not imported: {results}"));
        }
        Ok(())
    }

    /// Half of the log goes; twice, as the sweep may come between.
    async fn trim(&mut self, at: Place) -> Checked {
        let base = self.now(at).session.revision / 2;
        let body = format!(r#"{{"beforeSequence":{}}}"#, base + 1);
        status(self.client.post(format!("{}/trim", self.path(at))).json(body).await, 200)?;
        let mut pasts = self.pasts_of(at);
        for past in pasts.values_mut() {
            let held = past.iter().rfind(|past| past.revision <= base).cloned();
            past.retain(|past| past.revision > base);
            if let Some(held) = held.filter(|held| held.value.is_some()) {
                past.insert(0, Past { revision: base, is_base: true, by: None, ..held });
            }
        }
        self.compare_pasts_of(&format!("{}/state", self.path(at)), "", &pasts).await
    }

    async fn erase(&mut self, at: Place) -> Checked {
        let mut past = self.world.shared(at, Shared::App).past;
        self.compare_pasts_of(&self.shared_path(at, Shared::App), "", &past).await?;
        status(self.client.post(format!("{}/erasure", self.user_path(at))).json("{}").await, 202)?;
        for past in past.values_mut().flatten() {
            past.by.take_if(|by| by.user == at.user);
        }
        self.compare_pasts_of(&self.shared_path(at, Shared::App), "", &past).await?;
        let of_user = self.world.shared(at, Shared::User).past.into_keys().map(|key| (key, Vec::new())).collect();
        self.compare_pasts_of(&self.shared_path(at, Shared::User), "", &of_user).await
    }
}

fn change_of(shown: &Json) -> Checked<Past> {
    let number = |json: &Json, name: &str| match json.get(name) {
        Some(Json::Number(text)) => text.parse().map_err(|_| format!("`{name}` is odd: {json}")),
        _ => Err(format!("no `{name}`: {json}")),
    };
    let text = |json: &Json, name: &str| json.text(name).unwrap_or_default().to_owned();
    let value = shown.get("value").cloned();
    equal("what is removed", shown.get("removed"), value.is_none().then_some(&Json::Bool(true)))?;
    let by = match shown.get("by") {
        None => None,
        Some(by) => Some(Maker {
            user: text(by, "userId").trim_start_matches('u').parse().map_err(|_| format!("an odd user: {by}"))?,
            session: text(by, "sessionId"),
            event: text(by, "eventId"),
            sequence: number(by, "sequence")?,
            author: text(by, "author"),
            invocation: text(by, "invocationId"),
        }),
    };
    Ok(Past { revision: number(shown, "revision")?, value, is_base: shown.get("base").is_some(), by })
}
