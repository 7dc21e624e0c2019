"""Many recordings: tables of a fleet, questions asked of them, what noise costs at scale."""
