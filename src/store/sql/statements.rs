//! How a resource lists its statements.
//!
//! SQLite reads `$1` as PostgreSQL does, so one text serves both, except for the [`Words`](super::words::Words) of each. Statements are
//! built from literals; values are always bound. Parameters that name a session come first: `$1` the app, `$2` the user, `$3` the
//! session, `$4` the incarnation. A bound limit is written as a sum, `0 + $1`: SQLite plans a statement again whenever a bare limit is
//! bound.

/// Makes `Statements` of names and texts, which are built once for each database. With a pattern for
/// [`ScopeTables`](super::scope::ScopeTables) it makes `ScopeStatements`, which are built for users and for apps.
macro_rules! statements {
    ($words:ident, $($(#[$doc:meta])* $name:ident: $text:expr,)*) => {
        pub struct Statements {
            $($(#[$doc])* pub $name: String,)*
        }

        impl Statements {
            /// The statements in the words of a database.
            pub fn of(db: &impl $crate::store::sql::query::Sql) -> &'static Self {
                Self::in_words(db.words())
            }

            fn in_words(words: &'static $crate::store::sql::words::Words) -> &'static Self {
                static BUILT: $crate::store::sql::words::PerShape<Statements> = $crate::store::sql::words::PerShape::new();
                BUILT.get(words.shape, || {
                    let $words = words;
                    Self { $($name: String::from($text),)* }
                })
            }

            /// All of them, with their names.
            #[cfg(test)]
            pub fn named(words: &'static $crate::store::sql::words::Words) -> Vec<(String, &'static str)> {
                let all = Self::in_words(words);
                vec![$((stringify!($name).to_owned(), &*all.$name)),*]
            }
        }
    };
    ($words:ident, $tables:pat, $($(#[$doc:meta])* $name:ident: $text:expr,)*) => {
        pub struct ScopeStatements {
            $($(#[$doc])* pub $name: String,)*
        }

        impl ScopeStatements {
            /// The statements over a shared scope, in the words of a database.
            pub fn of(db: &impl $crate::store::sql::query::Sql, scope: &$crate::domain::ids::ScopeKey) -> &'static Self {
                $crate::store::sql::scope::of_scope(scope, Self::both(db.words()))
            }

            /// Those of users, and those of apps.
            pub fn both(words: &'static $crate::store::sql::words::Words) -> &'static [Self; 2] {
                static BUILT: $crate::store::sql::words::PerShape<[ScopeStatements; 2]> =
                    $crate::store::sql::words::PerShape::new();
                BUILT.get(words.shape, || {
                    let $words = words;
                    $crate::store::sql::scope::SCOPES.each_ref().map(|$tables| Self { $($name: String::from($text),)* })
                })
            }

            /// All of them, with their names.
            #[cfg(test)]
            pub fn named(words: &'static $crate::store::sql::words::Words) -> Vec<(String, &'static str)> {
                let [users, apps] = Self::both(words);
                let pairs = [$((stringify!($name), &*users.$name, &*apps.$name)),*].into_iter();
                pairs.flat_map(|(name, user, app)| [(format!("user_{name}"), user), (format!("app_{name}"), app)]).collect()
            }
        }
    };
}
pub(crate) use statements;
