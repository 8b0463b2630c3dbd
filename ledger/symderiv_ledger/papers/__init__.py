"""Papers as files, claim by claim to verdicts, and the ledger of them."""
