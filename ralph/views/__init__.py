"""What people see: dashboard, log, status; all read the journal's events and nothing else."""
