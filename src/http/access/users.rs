//! Basic auth with bcrypt, at a bounded cost.
//!
//! One comparison takes tens of milliseconds of a core by design. So they run on a blocking thread, one at a
//! time; a good password is remembered by a keyed digest; and a wrong one makes the next comparison wait, so
//! that whoever guesses at speed gets no more than a quarter of one core. Few may wait; others are told to come
//! back. An unknown user costs the same as a known one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::http::HeaderValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bcrypt::HashParts;
use ring::hmac;
use ring::rand::SystemRandom;
use tokio::sync::Semaphore;

/// Comparisons that may wait for their turn.
const MOST_WAITING: usize = 16;
/// A comparison takes 2^cost steps; 16 takes seconds.
const MOST_COST: u32 = 16;
/// The pause after a wrong password, in times of what its comparison took.
const PAUSE: u32 = 3;

/// Who may come in.
pub(super) struct Users {
    hashes: Arc<BTreeMap<String, String>>,
    /// What an unknown user's password is compared with: as costly as the costliest.
    nobody: String,
    key: hmac::Key,
    /// The digest of each user's last good password.
    good: Mutex<BTreeMap<String, hmac::Tag>>,
    turn: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// Whether a request may be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Welcome,
    Refused,
    /// Too many passwords are being compared already.
    Busy,
}

impl Users {
    /// # Errors
    /// A user's hash that bcrypt does not understand, or one that takes too long; never the hash itself.
    pub(super) fn new(hashes: BTreeMap<String, String>) -> Result<Self, String> {
        let mut costliest = 4;
        for (name, hash) in &hashes {
            let parts: HashParts = hash.parse().map_err(|_| {
                format!("basic_auth_users: the password of {name:?} is no bcrypt hash")
            })?;
            let cost = parts.get_cost();
            if cost > MOST_COST {
                return Err(format!(
                    "basic_auth_users: the hash of {name:?} costs more than {MOST_COST}"
                ));
            }
            costliest = costliest.max(cost);
        }
        // A hash of this form compares at its full cost and fits no password that anyone would find.
        let nobody = format!("$2b${costliest:02}${}", "a".repeat(21) + "u" + &"b".repeat(30) + "u");
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map_err(|_| "basic_auth_users: the system has no random numbers".to_owned())?;
        Ok(Self {
            hashes: Arc::new(hashes),
            nobody,
            key,
            good: Mutex::default(),
            turn: Arc::new(Semaphore::new(1)),
            waiting: AtomicUsize::new(0),
        })
    }

    /// Judges an Authorization header.
    pub(super) async fn judge(&self, header: Option<&HeaderValue>) -> Verdict {
        if self.hashes.is_empty() {
            return Verdict::Welcome;
        }
        let Some((name, password)) = header.and_then(credentials) else { return Verdict::Refused };
        if self.is_remembered(&name, &password) {
            return Verdict::Welcome;
        }
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= MOST_WAITING {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Verdict::Busy;
        }
        let _place = Place(&self.waiting);
        self.compare(name, password).await
    }

    async fn compare(&self, name: String, password: Vec<u8>) -> Verdict {
        let Ok(turn) = Arc::clone(&self.turn).acquire_owned().await else { return Verdict::Busy };
        // Someone with the same password may have been before.
        if self.is_remembered(&name, &password) {
            return Verdict::Welcome;
        }
        let known = self.hashes.get(&name).cloned();
        let is_known = known.is_some();
        let hash = known.unwrap_or_else(|| self.nobody.clone());
        let digest = self.digest(&name, &password);
        let comparing = tokio::task::spawn_blocking(move || {
            let since = Instant::now();
            let fits = bcrypt::verify(&password, &hash).unwrap_or(false);
            (fits && is_known, since.elapsed(), turn)
        });
        let Ok((fits, took, turn)) = comparing.await else { return Verdict::Refused };
        if fits {
            self.good.lock().unwrap_or_else(PoisonError::into_inner).insert(name, digest);
            return Verdict::Welcome;
        }
        tokio::spawn(async move {
            tokio::time::sleep(took * PAUSE).await;
            drop(turn);
        });
        Verdict::Refused
    }

    fn is_remembered(&self, name: &str, password: &[u8]) -> bool {
        let good = self.good.lock().unwrap_or_else(PoisonError::into_inner);
        good.get(name).is_some_and(|tag| {
            hmac::verify(&self.key, &message(name, password), tag.as_ref()).is_ok()
        })
    }

    fn digest(&self, name: &str, password: &[u8]) -> hmac::Tag {
        hmac::sign(&self.key, &message(name, password))
    }
}

/// A place among those who wait, given back also when the client goes away.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Name and password as one text; a name has no colon.
fn message(name: &str, password: &[u8]) -> Vec<u8> {
    [name.as_bytes(), b":", password].concat()
}

fn credentials(header: &HeaderValue) -> Option<(String, Vec<u8>)> {
    let (scheme, encoded) = header.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = STANDARD.decode(encoded.trim()).ok()?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    let (name, password) = decoded.split_at_checked(colon)?;
    let name = String::from_utf8(name.to_vec()).ok()?;
    Some((name, password.get(1..)?.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::{MOST_WAITING, Users, Verdict};
    use axum::http::HeaderValue;
    use base64::Engine as _;
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    fn header(credentials: &str) -> HeaderValue {
        let encoded = base64::engine::general_purpose::STANDARD.encode(credentials);
        HeaderValue::from_str(&format!("Basic {encoded}")).unwrap()
    }

    fn users(cost: u32) -> Users {
        let hash = bcrypt::hash_with_salt("secret", cost, [7; 16]).unwrap().to_string();
        Users::new(BTreeMap::from([("alice".to_owned(), hash)])).unwrap()
    }

    #[tokio::test]
    async fn only_the_right_password_of_a_known_user() {
        let users = users(4);
        assert_eq!(users.judge(Some(&header("alice:secret"))).await, Verdict::Welcome);
        for wrong in ["alice:Secret", "alice:", "alice", ":", "bob:secret", "alice:secret:"] {
            assert_eq!(users.judge(Some(&header(wrong))).await, Verdict::Refused, "{wrong}");
        }
        assert_eq!(users.judge(None).await, Verdict::Refused);
        for text in ["Basic", "Basic !", "Bearer YTpi", ""] {
            let value = HeaderValue::from_str(text).unwrap();
            assert_eq!(users.judge(Some(&value)).await, Verdict::Refused, "{text}");
        }
        assert_eq!(users.judge(Some(&header("alice:secret"))).await, Verdict::Welcome);
    }

    #[tokio::test]
    async fn an_unknown_user_costs_what_a_known_one_does() {
        let users = users(8);
        let mut took = Vec::new();
        for who in ["alice:wrong", "bob:wrong"] {
            // The pause after the one before is over when the turn is free.
            drop(users.turn.acquire().await.unwrap());
            let since = Instant::now();
            assert_eq!(users.judge(Some(&header(who))).await, Verdict::Refused);
            took.push(since.elapsed());
        }
        assert!(took[1] * 4 > took[0], "{took:?}");
    }

    #[tokio::test]
    async fn a_good_password_passes_while_others_guess_and_few_may_wait() {
        let users = Arc::new(users(8));
        assert_eq!(users.judge(Some(&header("alice:secret"))).await, Verdict::Welcome);
        let guesses = (0..100).map(|number| {
            let users = Arc::clone(&users);
            tokio::spawn(
                async move { users.judge(Some(&header(&format!("alice:{number}")))).await },
            )
        });
        let guesses: Vec<_> = guesses.collect();
        tokio::task::yield_now().await;
        let since = Instant::now();
        assert_eq!(users.judge(Some(&header("alice:secret"))).await, Verdict::Welcome);
        assert!(since.elapsed() < Duration::from_millis(500));
        let mut refused = 0;
        for guess in guesses {
            match guess.await.unwrap() {
                Verdict::Refused => refused += 1,
                Verdict::Busy => {}
                Verdict::Welcome => panic!("a guess was let in"),
            }
        }
        assert!(refused <= MOST_WAITING, "{refused}");
    }

    #[test]
    fn a_bad_hash_is_refused_without_being_quoted() {
        for hash in ["plain", "", "$2y$31$abcdefghijklmnopqrstuu5gcTU5gyh9iDtLvA7yv2QLYIBYCCPBO"] {
            let Err(error) = Users::new(BTreeMap::from([("alice".to_owned(), hash.to_owned())]))
            else {
                panic!("{hash} was taken");
            };
            assert!(
                error.contains("alice") && (hash.is_empty() || !error.contains(hash)),
                "{error}"
            );
        }
    }
}
