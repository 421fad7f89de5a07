//! How a resource lists its statements.
//!
//! SQLite reads `$1` as PostgreSQL does, so one text serves both, except for the [`Words`](super::words::Words) of each. Statements are
//! built from literals; values are always bound. Parameters that name a session come first: `$1` the app, `$2` the user, `$3` the
//! session, `$4` the incarnation. A bound limit is written as a sum, `0 + $1`: SQLite plans a statement again whenever a bare limit is
//! bound.

/// Makes `Statements` of names and texts, which are built once for each database.
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
            pub fn named(words: &'static $crate::store::sql::words::Words) -> Vec<(&'static str, &'static str)> {
                let all = Self::in_words(words);
                vec![$((stringify!($name), &*all.$name)),*]
            }
        }
    };
}
pub(crate) use statements;
