//! A running server and a small client for it.

pub mod client;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use roce_exporter::http::{DEFAULT_MAX_REQUESTS, Door, ServerState, router, serve};
use roce_exporter::sampler::Board;
use tokio::sync::watch;

use crate::exposition::{BUILD, snapshots::hand_made};

/// A server on its own runtime and thread.
pub struct Server {
    pub address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: JoinHandle<(io::Result<()>, Duration)>,
}

/// A state that is ready and shows the hand-made snapshot.
pub fn state() -> ServerState {
    ServerState {
        snapshot: Arc::new(hand_made),
        ready: Arc::new(|| true),
        past: Arc::new(Board::default()),
        build: BUILD,
        telemetry_path: "/metrics".to_owned(),
        process_root: Some(PathBuf::from("/proc")),
        max_requests: DEFAULT_MAX_REQUESTS,
    }
}

impl Server {
    pub fn start(state: ServerState) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Self::start_on(vec![listener], state)
    }

    pub fn start_on(listeners: Vec<TcpListener>, state: ServerState) -> Self {
        Self::start_behind(Arc::new(Door::open().unwrap()), listeners, state)
    }

    pub fn start_behind(door: Arc<Door>, listeners: Vec<TcpListener>, state: ServerState) -> Self {
        let address = listeners[0].local_addr().unwrap();
        let (stop, stopping) = watch::channel(false);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            let outcome = runtime.block_on(async {
                let listeners = listeners.into_iter().map(|listener| {
                    listener.set_nonblocking(true).unwrap();
                    tokio::net::TcpListener::from_std(listener).unwrap()
                });
                let mut stop_seen = stopping.clone();
                let serving =
                    tokio::spawn(serve(listeners.collect(), router(state), door, stopping));
                // The sender may be dropped instead of set: both mean stop.
                let _ = stop_seen.wait_for(|stop| *stop).await;
                let since = Instant::now();
                (serving.await.unwrap(), since.elapsed())
            });
            runtime.shutdown_background();
            outcome
        });
        Self { address, stop, thread }
    }

    /// Stops the server; says how long it took. Panics if it ended with an error.
    pub fn stop(self) -> Duration {
        self.stop.send(true).unwrap();
        self.outcome()
    }

    /// Stops the server by dropping the sender.
    pub fn abandon(self) -> Duration {
        let Self { address, stop, thread } = self;
        drop(stop);
        Self { address, stop: watch::channel(true).0, thread }.outcome()
    }

    fn outcome(self) -> Duration {
        let (result, took) = self.thread.join().unwrap();
        result.unwrap();
        took
    }
}
