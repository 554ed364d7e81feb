//! The agent tools by name.

/// A tool of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Take the agent and read what it left.
    Resume,
    /// Take the agent after a resume without its lease.
    Acquire,
    /// Give the agent back.
    Release,
    /// Change the working state.
    UpdateWorkingState,
    /// Note a durable point.
    Milestone,
    /// Append a message.
    RecordTurn,
    /// The newest messages.
    RecentTurns,
    /// Keep a large content.
    StoreOutput,
    /// Read a kept content.
    FetchOutput,
    /// Say where a piece of work lives.
    SetPointer,
    /// Take such a word back.
    RemovePointer,
    /// All such words.
    ListPointers,
    /// Note that a tool is about to run.
    BeginAction,
    /// Note how it ended.
    EndAction,
    /// What was begun and not ended.
    PendingActions,
    /// The briefing once more.
    Context,
    /// Earlier versions of the working state.
    WorkingStateHistory,
}

impl Tool {
    /// Every tool, in the order in which they are listed.
    pub const ALL: [Self; 17] = [
        Self::Resume,
        Self::Acquire,
        Self::Release,
        Self::UpdateWorkingState,
        Self::Milestone,
        Self::RecordTurn,
        Self::RecentTurns,
        Self::StoreOutput,
        Self::FetchOutput,
        Self::SetPointer,
        Self::RemovePointer,
        Self::ListPointers,
        Self::BeginAction,
        Self::EndAction,
        Self::PendingActions,
        Self::Context,
        Self::WorkingStateHistory,
    ];

    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Resume => "agent_resume",
            Self::Acquire => "agent_acquire",
            Self::Release => "agent_release",
            Self::UpdateWorkingState => "update_working_state",
            Self::Milestone => "agent_milestone",
            Self::RecordTurn => "record_turn",
            Self::RecentTurns => "recent_turns",
            Self::StoreOutput => "store_output",
            Self::FetchOutput => "fetch_output",
            Self::SetPointer => "set_pointer",
            Self::RemovePointer => "remove_pointer",
            Self::ListPointers => "list_pointers",
            Self::BeginAction => "begin_action",
            Self::EndAction => "end_action",
            Self::PendingActions => "pending_actions",
            Self::Context => "agent_context",
            Self::WorkingStateHistory => "working_state_history",
        }
    }

    /// The tool of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }
}
