//! What the command line can say.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

/// Works with a Recall server: bridges MCP over standard input and output, manages keys, and reads
/// and writes memory.
#[derive(Debug, Parser)]
#[command(name = "recall", version)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Which server, and who asks. The first credential found counts: --key-file, RECALL_API_KEY,
/// --token-file, RECALL_TOKEN_FILE, /var/run/secrets/recall/token.
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// The server's address.
    #[arg(long, env = "RECALL_URL", value_name = "URL", global = true)]
    pub(crate) server: Option<String>,
    /// A file that holds a key.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) key_file: Option<PathBuf>,
    /// A key. Prefer the variable or a file: arguments are visible to other processes.
    #[arg(
        long,
        env = "RECALL_API_KEY",
        value_name = "KEY",
        hide_env_values = true,
        global = true
    )]
    pub(crate) key: Option<String>,
    /// A file that holds a Kubernetes service-account token to exchange for a key.
    #[arg(long, env = "RECALL_TOKEN_FILE", value_name = "FILE", global = true)]
    pub(crate) token_file: Option<PathBuf>,
    /// Certificates to trust instead of the system's.
    #[arg(long, env = "RECALL_CA_FILE", value_name = "FILE", global = true)]
    pub(crate) ca_file: Option<PathBuf>,
    /// A certificate to show to a server that asks for one (PEM).
    #[arg(
        long,
        env = "RECALL_CLIENT_CERT_FILE",
        value_name = "FILE",
        requires = "client_key_file",
        global = true
    )]
    pub(crate) client_cert_file: Option<PathBuf>,
    /// The private key of that certificate (PEM).
    #[arg(
        long,
        env = "RECALL_CLIENT_KEY_FILE",
        value_name = "FILE",
        requires = "client_cert_file",
        global = true
    )]
    pub(crate) client_key_file: Option<PathBuf>,
    /// Allow http:// to a host outside this machine and the cluster.
    #[arg(long, global = true)]
    pub(crate) insecure: bool,
}

impl ServerArgs {
    /// What a TLS connection is made with.
    pub(crate) fn tls(&self) -> TlsArgs<'_> {
        TlsArgs {
            ca_file: self.ca_file.as_deref(),
            identity: self
                .client_cert_file
                .as_deref()
                .zip(self.client_key_file.as_deref()),
        }
    }
}

/// Whom to trust, and what to show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TlsArgs<'a> {
    /// Certificates to trust instead of the system's.
    pub(crate) ca_file: Option<&'a Path>,
    /// The client's certificate and its private key.
    pub(crate) identity: Option<(&'a Path, &'a Path)>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve MCP on standard input and output by passing it to the server.
    ///
    /// An MCP client starts it as a program of its own, with the server and the credential in the
    /// environment. Messages are passed as they are, in every revision of the protocol, and answered as
    /// soon as each call returns. In a pod the token is exchanged for a key at the first message; an
    /// agent that was resumed through this process is released when it ends.
    #[command(after_long_help = CONNECT_EXAMPLE)]
    Connect(ConnectArgs),
    /// Manage keys; needs an admin key.
    ///
    /// Without a credential, the admin key that a server on this machine made for itself is used:
    /// admin.key in its data directory, which is the usual one or the one that RECALL_DATA_DIR names.
    #[command(subcommand)]
    Key(KeyCommand),
    /// See who works as which agent; needs an admin key.
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Keep something.
    Remember(RememberArgs),
    /// Ask what is known.
    Ask(AskArgs),
    /// Withdraw something.
    Forget(ForgetArgs),
    /// Show how something changed.
    History(HistoryArgs),
    /// Show what changed between two times.
    Diff(DiffArgs),
    /// Check every step from this process to its memory; names the one that fails and the fix.
    Doctor(DoctorArgs),
    /// Print the completions of a shell, to be sourced by it.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page of this program or of one of its commands; read it with `man -l -`.
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// A command, such as connect.
    #[arg(value_name = "COMMAND")]
    pub(crate) of: Option<String>,
}

const CONNECT_EXAMPLE: &str = r#"In the settings of an MCP client:

  {"mcpServers": {"recall": {"command": "recall", "args": ["connect"],
    "env": {"RECALL_URL": "https://recall.example.com", "RECALL_API_KEY": "rcl_..."}}}}"#;

#[derive(Debug, Args)]
pub(crate) struct ConnectArgs {
    /// Exchange the token at start and fail if that fails, instead of at the first message.
    #[arg(long)]
    pub(crate) eager: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Mint a key and print it once.
    Create(CreateArgs),
    /// List keys.
    List(ListArgs),
    /// Revoke a key.
    Revoke {
        /// The key's id.
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// The memory that the key reaches.
    #[arg(long, required_unless_present = "admin", conflicts_with = "admin")]
    pub(crate) namespace: Option<String>,
    /// A key that manages keys and reaches no memory.
    #[arg(long)]
    pub(crate) admin: bool,
    /// Fix the agent that the key may name.
    #[arg(long)]
    pub(crate) agent: Option<String>,
    /// Fix the session that the key may name.
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// How long it lives, such as 15m or 1h30m; for ever if left out or 0s.
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<String>,
    /// A remark to find it by.
    #[arg(long)]
    pub(crate) note: Option<String>,
    /// Print the server's JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print the server's JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the agents of a memory with the state of their leases.
    List(AgentsArgs),
    /// Show one agent and its unfinished actions.
    Show(AgentArgs),
    /// End an agent's lease: its owner's next write is refused, and the agent can be taken.
    Break(AgentArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AgentsArgs {
    /// The memory that the agents belong to.
    #[arg(long)]
    pub(crate) namespace: String,
    /// Print the server's JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    /// The agent's id.
    pub(crate) agent: String,
    #[command(flatten)]
    pub(crate) of: AgentsArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RememberArgs {
    /// What to keep: a text, or with --subject and --predicate a value.
    pub(crate) text: String,
    /// Whom or what it is about (typed surface).
    #[arg(long, requires = "predicate")]
    pub(crate) subject: Option<String>,
    /// Which registered predicate (typed surface).
    #[arg(long, requires = "subject")]
    pub(crate) predicate: Option<String>,
    /// When it was said: RFC 3339, a date, or an age such as 36h or 7d.
    #[arg(long, value_name = "TIME")]
    pub(crate) observed_at: Option<String>,
    /// Print the server's JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// What you want to know; everything about the user if left out (text surface).
    pub(crate) question: Option<String>,
    /// Answer with what was believed then: RFC 3339, a date, or an age such as 36h or 7d.
    #[arg(long, value_name = "TIME")]
    pub(crate) as_of: Option<String>,
    /// Only what was said since then (text surface).
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Print the server's JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ForgetArgs {
    /// The sentence to withdraw, or with --subject and --predicate a value; every value if left out.
    #[arg(required_unless_present = "subject")]
    pub(crate) text: Option<String>,
    /// Whom or what it is about (typed surface).
    #[arg(long, requires = "predicate")]
    pub(crate) subject: Option<String>,
    /// Which predicate (typed surface).
    #[arg(long, requires = "subject")]
    pub(crate) predicate: Option<String>,
    /// Print the server's JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// What the history is about (text surface).
    #[arg(required_unless_present = "subject", conflicts_with = "subject")]
    pub(crate) question: Option<String>,
    /// Whom or what it is about (typed surface).
    #[arg(long, requires = "predicate")]
    pub(crate) subject: Option<String>,
    /// Which predicate (typed surface).
    #[arg(long, requires = "subject")]
    pub(crate) predicate: Option<String>,
    /// Print the server's JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The earlier time: RFC 3339, a date, or an age such as 36h or 7d.
    #[arg(long, value_name = "TIME")]
    pub(crate) from: String,
    /// The later time; now if left out.
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<String>,
    /// Only about this subject (typed surface).
    #[arg(long)]
    pub(crate) subject: Option<String>,
    /// Print the server's JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Write nothing; without this one line is written, read back and withdrawn.
    #[arg(long)]
    pub(crate) read_only: bool,
    /// The agent whose lease to look at; a pod's own if left out.
    #[arg(long)]
    pub(crate) agent: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}
