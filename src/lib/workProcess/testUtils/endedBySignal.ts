// Ends by a signal before it has handlers for any.
process.kill(process.pid, 'SIGTERM')
