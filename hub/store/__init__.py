"""Storage: connections, transactions, schema and the named SQL. No rule and no use case in here."""
