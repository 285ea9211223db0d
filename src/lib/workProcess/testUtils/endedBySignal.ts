// Ends by a signal before it has installed handlers.
process.kill(process.pid, 'SIGTERM')
