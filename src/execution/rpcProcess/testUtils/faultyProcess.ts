// A program in the place of an RPC process that ends before it has loaded.

process.exit(3)
