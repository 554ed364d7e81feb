//! A network on loopback that can be cut: everything to a server passes through it.

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// What becomes of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Net {
    /// Everything passes.
    Whole,
    /// Connections end and new ones are closed at once.
    Cut,
    /// Nothing passes any more, and nobody is told.
    Silent,
    /// What is asked arrives and no answer comes back.
    Deaf,
}

/// A network to one server.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    target: Arc<Mutex<SocketAddr>>,
    net: watch::Sender<Net>,
    task: AbortHandle,
}

impl Proxy {
    /// Listens on a free port of loopback and passes on to `target`.
    ///
    /// # Errors
    ///
    /// If there is no free port.
    pub async fn start(target: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let target = Arc::new(Mutex::new(target));
        let net = watch::channel(Net::Whole).0;
        let task = tokio::spawn(accept(listener, Arc::clone(&target), net.subscribe()));
        Ok(Self {
            address,
            target,
            net,
            task: task.abort_handle(),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on passes on to another address.
    pub fn lead_to(&self, target: SocketAddr) {
        *self.target.lock() = target;
    }

    /// Changes the network. What was held back while it was not whole never arrives.
    pub fn set(&self, net: Net) {
        self.net.send_replace(net);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, target: Arc<Mutex<SocketAddr>>, net: watch::Receiver<Net>) {
    while let Ok((stream, _)) = listener.accept().await {
        let target = *target.lock();
        tokio::spawn(pass(stream, target, net.clone()));
    }
}

async fn pass(near: TcpStream, target: SocketAddr, net: watch::Receiver<Net>) {
    if *net.borrow() == Net::Cut {
        return;
    }
    // A server that is not there refuses; so does this, by closing.
    let Ok(far) = TcpStream::connect(target).await else {
        return;
    };
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let (near_read, near_write) = near.into_split();
    let (far_read, far_write) = far.into_split();
    tokio::select! {
        () = pump(near_read, far_write, net.clone(), false) => {}
        () = pump(far_read, near_write, net, true) => {}
    }
}

/// Copies one direction until either end closes or the network says so.
async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut net: watch::Receiver<Net>,
    answers: bool,
) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let now = *net.borrow_and_update();
        match now {
            Net::Cut => return,
            // The connection is of no use after this, as after a real cut.
            Net::Silent => return drop(net.changed().await),
            Net::Deaf if answers => return drop(net.changed().await),
            Net::Whole | Net::Deaf => {}
        }
        tokio::select! {
            biased;
            changed = net.changed() => match changed {
                Ok(()) => {}
                Err(_) => return,
            },
            read = from.read(&mut buffer) => match read {
                Ok(0) | Err(_) => return,
                Ok(length) => {
                    let bytes = buffer.get(..length).unwrap_or_default();
                    if to.write_all(bytes).await.is_err() {
                        return;
                    }
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A server that answers each byte with the next one, and counts what arrived.
    async fn echo() -> (SocketAddr, Arc<Mutex<Vec<u8>>>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let arrived = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&arrived);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let seen = Arc::clone(&seen);
                tokio::spawn(async move {
                    while let Ok(byte) = stream.read_u8().await {
                        seen.lock().push(byte);
                        let _ = stream.write_u8(byte + 1).await;
                    }
                });
            }
        });
        (address, arrived)
    }

    async fn ask(stream: &mut TcpStream, byte: u8) -> Option<u8> {
        stream.write_u8(byte).await.ok()?;
        let answer = tokio::time::timeout(Duration::from_millis(300), stream.read_u8());
        answer.await.ok()?.ok()
    }

    #[tokio::test]
    async fn a_network_is_whole_cut_silent_or_deaf() {
        let (server, arrived) = echo().await;
        let proxy = Proxy::start(server).await.expect("a proxy");
        let connect = async || TcpStream::connect(proxy.address).await.expect("it listens");
        let mut stream = connect().await;
        assert_eq!(ask(&mut stream, 1).await, Some(2));
        proxy.set(Net::Deaf);
        assert_eq!(ask(&mut stream, 3).await, None);
        assert_eq!(*arrived.lock(), [1, 3], "what is asked arrives");
        proxy.set(Net::Whole);
        assert_eq!(ask(&mut stream, 5).await, None, "it was cut");
        let mut stream = connect().await;
        assert_eq!(ask(&mut stream, 7).await, Some(8));
        proxy.set(Net::Silent);
        assert_eq!(ask(&mut stream, 9).await, None);
        proxy.set(Net::Cut);
        let mut refused = connect().await;
        assert_eq!(ask(&mut refused, 11).await, None);
        proxy.set(Net::Whole);
        assert_eq!(ask(&mut connect().await, 13).await, Some(14));
        assert_eq!(*arrived.lock(), [1, 3, 7, 13]);
    }
}
