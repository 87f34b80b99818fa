"""Everything that touches the world: processes, git, files, SQLite, the clock."""
