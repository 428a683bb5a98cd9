"""Where agents keep their conversations: the saver, and which checkpointer an agent gets."""
