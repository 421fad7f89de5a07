//! Enums of words: each variant is one, wherever it is shown, stored or read.

/// Declares an enum whose variants are shown as words.
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            $vis fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

/// As [`words!`], of an enum that is also read.
macro_rules! read_words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $crate::domain::word::words! { $(#[$meta])* $vis enum $name { $($(#[$doc])* $variant = $word,)+ } }

        impl $name {
            pub const WORDS: [&'static str; [$($word),+].len()] = [$($word),+];
            pub const ALL: [Self; Self::WORDS.len()] = [$(Self::$variant),+];

            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.as_str() == word)
            }
        }
    };
}

pub(crate) use {read_words, words};
