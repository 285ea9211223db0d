// Replaces an RPC process. It ends before it has loaded.

process.exit(3)
